"""Knows the functions that come with PostgreSQL: what another one does, its name does not say."""

from __future__ import annotations

import re

_SCHEMAS = re.compile(r"pg_(?!temp)\w+|information_schema")
"""Names that begin with pg_ are reserved; functions of a session are in pg_temp."""
_FAMILIES = re.compile(
    r"has_\w+_privilege|pg_(?:stat_get_\w+|\w+_is_visible|ls_(?:\w+)?dir|lsn_\w+)"
)
_NAMES = """
abbrev abs aclexplode acos acosd acosh age any_value area array_agg array_append array_cat
array_dims array_fill array_length array_lower array_ndims array_position array_positions
array_prepend array_remove array_replace array_reverse array_sample array_shuffle array_sort
array_to_json array_to_string array_to_tsvector array_upper ascii asin asind asinh atan atan2
atan2d atand atanh avg bit bit_and bit_count bit_length bit_or bit_xor bool bool_and bool_or box
bpchar broadcast btrim bytea cardinality casefold cbrt ceil ceiling center char char_length
character_length chr cidr circle clock_timestamp col_description concat concat_ws convert
convert_from convert_to corr cos cosd cosh cot cotd count covar_pop covar_samp crc32 crc32c
cume_dist current_database current_query current_schema current_schemas current_setting
current_user currval cursor_to_xml database_to_xml date date_add date_bin date_part
date_subtract date_trunc datemultirange daterange decode degrees dense_rank diagonal diameter
div encode enum_first enum_last erf erfc every exp extract factorial family first_value float4
float8 floor format format_type gamma gcd gen_random_uuid generate_series generate_subscripts
get_bit get_byte get_current_ts_config getdatabaseencoding getpgusername hashint4 hashint8
hashtext hashtextextended height host hostmask icu_unicode_version inet_client_addr
inet_client_port inet_merge inet_same_family inet_server_addr inet_server_port initcap int2 int4
int4multirange int4range int8 int8multirange int8range interval is_normalized isclosed isempty
isfinite ishorizontal isopen isparallel isperp isvertical json_agg json_agg_strict
json_array_element json_array_element_text json_array_elements json_array_elements_text
json_array_length json_build_array json_build_object json_each json_each_text json_extract_path
json_extract_path_text json_object json_object_agg json_object_agg_strict json_object_agg_unique
json_object_agg_unique_strict json_object_keys json_populate_record json_populate_recordset
json_strip_nulls json_to_record json_to_recordset json_to_tsvector json_typeof jsonb_agg
jsonb_agg_strict jsonb_array_element jsonb_array_elements jsonb_array_elements_text
jsonb_array_length jsonb_build_array jsonb_build_object jsonb_contains jsonb_each
jsonb_each_text jsonb_exists jsonb_extract_path jsonb_extract_path_text jsonb_insert
jsonb_object jsonb_object_agg jsonb_object_agg_strict jsonb_object_agg_unique
jsonb_object_agg_unique_strict jsonb_object_keys jsonb_path_exists jsonb_path_exists_tz
jsonb_path_match jsonb_path_match_tz jsonb_path_query jsonb_path_query_array
jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz jsonb_path_query_tz
jsonb_populate_record jsonb_populate_record_valid jsonb_populate_recordset jsonb_pretty
jsonb_set jsonb_set_lax jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_to_tsvector
jsonb_typeof justify_days justify_hours justify_interval lag last_value lastval lcm lead left
length lgamma line ln lo_close lo_creat lo_create lo_export lo_from_bytea lo_get lo_import
lo_lseek lo_lseek64 lo_open lo_put lo_tell lo_tell64 lo_truncate lo_truncate64 lo_unlink log
log10 loread lower lower_inc lower_inf lowrite lpad lseg ltrim macaddr macaddr8 make_date
make_interval make_time make_timestamp make_timestamptz masklen max md5 min min_scale mod mode
money multirange name netmask nextval normalize now npoints nth_value num_nonnulls num_nulls
numeric nummultirange numnode numrange obj_description octet_length oid overlaps overlay
parse_ident path percent_rank percentile_cont percentile_disc phraseto_tsquery pi
plainto_tsquery point polygon position pow power query_to_xml querytree quote_ident
quote_literal quote_nullable radians radius random random_normal range_agg range_intersect_agg
range_merge rank regclass regexp_count regexp_instr regexp_like regexp_match regexp_matches
regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr regr_avgx regr_avgy
regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace reverse
right round row_number row_security_active row_to_json rpad rtrim scale schema_to_xml
session_user set_bit set_byte set_config set_masklen setseed setval setweight sha224 sha256
sha384 sha512 shobj_description sign sin sind sinh slope split_part sqrt starts_with
statement_timestamp stddev stddev_pop stddev_samp string_agg string_to_array string_to_table
strip strpos substr substring sum system_user table_to_xml tan tand tanh text time timeofday
timestamp timestamptz timetz timezone to_ascii to_bin to_char to_date to_hex to_json to_jsonb
to_number to_oct to_regclass to_regcollation to_regnamespace to_regoper to_regoperator
to_regproc to_regprocedure to_regrole to_regtype to_regtypemod to_timestamp to_tsquery
to_tsvector transaction_timestamp translate trim_array trim_scale trunc ts_debug ts_delete
ts_filter ts_headline ts_lexize ts_parse ts_rank ts_rank_cd ts_rewrite ts_stat ts_token_type
tsmultirange tsrange tstzmultirange tstzrange tsvector_to_array txid_current
txid_current_if_assigned txid_current_snapshot txid_snapshot_xip txid_snapshot_xmax
txid_snapshot_xmin txid_status txid_visible_in_snapshot unicode_assigned unicode_version unistr
unnest upper upper_inc upper_inf uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7
var_pop var_samp varbit varchar variance version websearch_to_tsquery width width_bucket xid xml
xml_is_well_formed xml_is_well_formed_content xml_is_well_formed_document xmlagg xmlcomment
xmlexists xmltext xmlvalidate xpath xpath_exists
"""
_READING = """
available_extension_versions available_extensions available_wal_summaries backend_pid basetype
blocking_pids char_to_encoding client_encoding collation_actual_version collation_for
column_compression column_is_updatable column_size column_toast_chunk_id conf_load_time config
control_checkpoint control_init control_recovery control_system current_logfile current_snapshot
current_wal_flush_lsn current_wal_insert_lsn current_wal_lsn current_xact_id_if_assigned cursor
database_collation_actual_version database_size describe_object encoding_max_length
encoding_to_char event_trigger_ddl_commands event_trigger_dropped_objects
event_trigger_table_rewrite_oid event_trigger_table_rewrite_reason export_snapshot
extension_update_paths filenode_relation get_acl get_aios get_backend_memory_contexts
get_catalog_foreign_keys get_constraintdef get_expr get_function_arg_default
get_function_arguments get_function_identity_arguments get_function_result get_function_sqlbody
get_functiondef get_indexdef get_keywords get_loaded_modules get_multixact_members
get_object_address get_partition_constraintdef get_partkeydef get_publication_tables
get_replica_identity_index get_replication_slots get_ruledef get_sequence_data
get_serial_sequence get_shmem_allocations get_shmem_allocations_numa get_statisticsobjdef
get_statisticsobjdef_columns get_statisticsobjdef_expressions get_triggerdef get_userbyid
get_viewdef get_wait_events get_wal_replay_pause_state get_wal_resource_managers
get_wal_summarizer_state has_role hba_file_rules ident_file_mappings identify_object
identify_object_as_address index_column_has_property index_has_property indexam_has_property
indexam_progress_phasename indexes_size input_error_info input_is_valid is_in_recovery
is_other_temp_schema is_wal_replay_paused jit_available last_committed_xact last_wal_receive_lsn
last_wal_replay_lsn last_xact_replay_timestamp listening_channels lock_status lsn mcv_list_items
my_temp_schema notification_queue_usage numa_available options_to_table partition_ancestors
partition_root partition_tree postmaster_start_time prepared_statement prepared_xact
read_binary_file read_file relation_filenode relation_filepath relation_is_publishable
relation_is_updatable relation_size replication_origin_oid replication_origin_progress
replication_origin_session_progress safe_snapshot_blocking_pids sequence_last_value
sequence_parameters settings_get_flags show_all_file_settings show_all_settings
show_replication_origin_status size_bytes size_pretty sleep sleep_for sleep_until snapshot_xip
snapshot_xmax snapshot_xmin split_walfile_name stat_clear_snapshot stat_file
stat_force_next_flush stat_have_stats table_size tablespace_databases tablespace_location
tablespace_size timezone_abbrevs timezone_abbrevs_abbrevs timezone_abbrevs_zone timezone_names
total_relation_size trigger_depth typeof visible_in_snapshot wal_lsn_diff wal_summary_contents
walfile_name walfile_name_offset xact_commit_timestamp xact_commit_timestamp_origin xact_status
buffercache_numa_pages buffercache_pages buffercache_summary buffercache_usage_counts
check_frozen check_visible freespace get_wal_block_info get_wal_record_info get_wal_records_info
get_wal_stats prewarm relpages stat_statements stat_statements_info visibility visibility_map
visibility_map_summary
"""
"""Names behind pg_, of its own functions and those of its extensions, that only read: others of
that name may be anybody's, and write (pg_background_launch, pg_truncate_visibility_map)."""
# Of pg_proc in 15 to 18 (postgres.bki), without those that implement operators, types, indexes and
# conversions, which statements do not call by name.
_KNOWN = frozenset((*_NAMES.split(), *(f"pg_{name}" for name in _READING.split())))


def is_of_server(schema: str | None, function: str) -> bool:
    """Whether a function comes with PostgreSQL and does no more than is known, by its name;
    `schema`: where the call says one."""
    is_known = function in _KNOWN or _FAMILIES.fullmatch(function) is not None
    if schema is None or (function.startswith("pg_") and not is_known):
        return is_known
    return _SCHEMAS.fullmatch(schema) is not None
