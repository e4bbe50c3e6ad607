{# Brian's template, for pathways whose spikes need no queue; see `circuit_device.py`. #}
{# USES_VARIABLES { _n_sources, _n_targets, delay, _source_dt} #}

{% extends 'common_group.cpp' %}
{% set _n_sources = constant_or_scalar('_n_sources', variables['_n_sources']) %}
{% set _n_targets = constant_or_scalar('_n_targets', variables['_n_targets']) %}

{% block before_code %}
    {% set scalar = c_data_type(variables['delay'].dtype) %}
    std::vector<{{scalar}}> &real_delays = {{get_array_name(variables['delay'], access_data=False)}};
    {{scalar}}* real_delays_data = real_delays.empty() ? 0 : &(real_delays[0]);
    int32_t* sources = {{owner.name}}.sources.empty() ? 0 : &({{owner.name}}.sources[0]);
    const size_t n_delays = real_delays.size();
    const size_t n_synapses = {{owner.name}}.sources.size();

    // All to all, in the order in which synapses.cpp counts, and no delay?
    extern bool _at_once_{{owner.name}};
    const size_t n_sources = {{_n_sources}}, n_targets = {{_n_targets}};
    std::vector<int> &targets = {{get_array_name(owner.synapse_targets, access_data=False)}};
    bool at_once = n_synapses == n_sources * n_targets && {{owner.source.start}} == 0;
    for (size_t i = 0; i < n_delays && at_once; i++)
        at_once = real_delays[i] == 0;
    for (size_t i = 0; i < n_synapses && at_once; i++)
    {% if owner.prepost == 'pre' %}
        at_once = sources[i] == i / n_targets && targets[i] == i % n_targets;
    {% else %}
        at_once = sources[i] == i % n_sources && targets[i] == i / n_sources;
    {% endif %}
    _at_once_{{owner.name}} = at_once;
    if (!at_once)
        {{owner.name}}.prepare({{_n_sources}}, {{_n_targets}}, real_delays_data, n_delays, sources,
                               n_synapses, {{_source_dt}});
{% endblock %}

{% block maincode %}
    {% set _eventspace = get_array_name(eventspace_variable) %}
    extern bool _at_once_{{owner.name}};
    if (!_at_once_{{owner.name}})
    {
        {{owner.name}}.advance();
        {{owner.name}}.push({{_eventspace}}, {{_eventspace}}[_num{{eventspace_variable.name}}-1]);
    }
{% endblock %}

{% block extra_functions_cpp %}
bool _at_once_{{owner.name}} = false;
{% endblock %}
