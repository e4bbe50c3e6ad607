"""Files as every room writes them: complete under their name, or not there.

===========  =====================================================================================
atomic       a scratch file that takes the name when it is complete
json_files   plain data
hdf5         arrays, with a checksum; read without trust
html_page    one page that needs no other file
===========  =====================================================================================
"""
