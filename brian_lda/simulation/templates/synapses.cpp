{# Brian's template, with a loop over the synapses of a spike that needs no queue and that the
   compiler can vectorise; see `circuit_device.py`. #}
{% extends 'common_synapses.cpp' %}

{# The array itself: no statement needs it, so that it has no local pointer. #}
{% set _events = get_array_name(pathway.source.variables[pathway.eventspace_name])|replace('_ptr', '') %}
{% set _sources = get_array_name(pathway.synapse_sources) %}
{% set _targets = get_array_name(pathway.synapse_targets) %}

{% block maincode %}
    {# USES_VARIABLES { _synaptic_pre } #}
    // scalar code
    const size_t _vectorisation_idx = -1;
    {{scalar_code|autoindent}}

    struct _Same { int32_t value; inline int32_t operator[](size_t) const { return value; } };
    extern bool _at_once_{{pathway.name}};
    if (_at_once_{{pathway.name}})
    {
        const int32_t _n_events = {{_events}}[_num_{{_events}} - 1];
        {% if pathway.prepost == 'pre' %}
        for (int32_t _event = 0; _event < _n_events; _event++)
        for (int32_t _target = 0; _target < {{pathway.target|length}}; _target++)
        {
            const int32_t _source = {{_events}}[_event];
            const size_t _idx = (size_t)_source * {{pathway.target|length}} + _target;
        {% else %}
        // Synapses of one word neuron lie side by side: once through the memory, not once a spike.
        for (int32_t _target = 0; _target < {{pathway.target|length}}; _target++)
        for (int32_t _event = 0; _event < _n_events; _event++)
        {
            const int32_t _source = {{_events}}[_event];
            const size_t _idx = (size_t)_target * {{pathway.source|length}} + _source;
        {% endif %}
            const size_t _vectorisation_idx = _idx;
            // Where the synapse begins and ends need not be looked up.
            const _Same {{_sources}} = {_source}, {{_targets}} = {_target};
            {{vector_code|autoindent}}
        }
    }
    else
    {
        std::vector<int> *_spiking_synapses = {{pathway.name}}.peek();
        for (size_t _i = 0; _i < _spiking_synapses->size(); _i++)
        {
            const size_t _idx = (*_spiking_synapses)[_i];
            const size_t _vectorisation_idx = _idx;
            {{vector_code|autoindent}}
        }
    }
{% endblock %}
