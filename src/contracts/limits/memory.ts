/** Limits of the shared memory, a part of `LIMITS`. */
export const MEMORY_LIMITS = {
  /** Interval of the check whether a blackboard must be archived. */
  memory_sweep_ms: 60_000,
  /** Maximum length of an entry or a decision in a list, in characters. */
  memory_summary_length_max: 200,
  /** Maximum length of the text of an entry, in characters. Longer text belongs into a file of the project. */
  memory_text_length_max: 16_000,
  tag_length_max: 64,
  tags_max: 32,
  relates_max: 100,
  /** Maximum number of constraints, files or symbols of one decision. */
  decision_lines_max: 100,
  alternatives_max: 20,
  entries_page_default: 50,
  entries_page_max: 500,
  entries_recent_default: 20,
  search_results_default: 10,
  memory_results_max: 100,
  query_length_max: 2_000,
  /** Default number of decisions returned by `why`, `list` and chains. */
  decisions_page_default: 50,
  decisions_page_max: 200,
  /** Maximum number of warnings that one decision posts about possible contradictions. */
  conflict_warnings_max: 5,
  /** Maximum length of each of the two reasons in such a warning, in characters; the decisions contain them whole. */
  conflict_reason_length_max: 7_500,
  /** Retry interval of failed outbox deliveries of a decision. */
  outbox_retry_ms: 30_000,
  /** Interval of the check for due outbox deliveries and for newly opened project memories. */
  outbox_sweep_ms: 5_000,
  /** Maximum number of decisions in one outbox batch, for each type of delivery. */
  outbox_batch_max: 25,
  /**
   * Maximum size of a decision file including its outbox, which grows only while deliveries fail. Less than
   * `record_file_bytes_max`, so that a merge fits.
   */
  decision_file_bytes_max: 768 * 1024,
  graph_depth_max: 3,
  /** Maximum number of relations on a path between two entities. */
  graph_path_length_max: 10,
  /** Maximum number of neighbours returned for one entity. */
  neighbors_max: 500,
  entity_name_length_max: 512,
  properties_max: 64,
  property_length_max: 1_024,
  /** Maximum size of one exported Markdown document. */
  export_bytes_max: 128 * 1024,
  /** Minimum token budget; an empty answer needs about as much. */
  assemble_tokens_min: 100,
  assemble_tokens_max: 32_000,
  brief_tokens_default: 2_000,
  /** Maximum number of lines of one section. */
  brief_lines_max: 30,
  /** Maximum length of the reason of a decision, in characters. */
  brief_reason_length_max: 240,
  /** Maximum length of each list of changes. */
  changes_max: 100,
  pin_length_max: 1_000,
  pins_max: 100,
  artifact_bytes_default: 32 * 1024,
  artifact_bytes_max: 128 * 1024,
  /** Number of archived summaries listed in the archive entry. */
  archive_key_items: 5,
  /** Maximum number of imported items of one type in one call. */
  import_items_max: 250,
  /** Maximum size of one import call of the command line. Less than body_bytes_max. */
  import_call_bytes_max: 512 * 1024,
  /** Maximum size of one imported file. */
  import_file_bytes_max: 64 * 1024 * 1024,

  /** Maximum number of entity names compared with an unknown one, because each comparison blocks the hub. */
  names_compared_max: 500,

  // Files that people, git and other programs also write
  /** Maximum nesting of JSON in files that others write. */
  json_depth_max: 64,
  /** Maximum nesting of JSON in requests, including the call and its frame. */
  wire_depth_max: 128,
  /** Maximum number of values in one body, frame or set of parameters, including lists and objects. */
  wire_values_max: 50_000,
  /** Maximum nesting of a line of the journal, greater than nested calls ever produced. */
  journal_depth_max: 512,
  /** Maximum nesting of a response of the hub, including its envelope. */
  answer_depth_max: 600,
  /** Maximum size of a record in a file; anything larger is not a record. */
  record_file_bytes_max: 1024 * 1024,
  /**
   * Maximum number of texts that a model embeds at once. A batch takes as long as its longest text, and a query may
   * wait for it.
   */
  embedder_batch_max: 16,
  /** Retry interval after a model failed to load, which can take seconds. */
  embedder_retry_ms: 60_000,
  /**
   * Maximum number of new texts that are embedded before a query is answered; if there are more, they are embedded
   * afterwards.
   */
  search_new_texts_max: 16,
  /** Maximum time that a query waits for the model. */
  search_wait_ms: 5_000,
  /** Interval at which the vectors are saved; the file is rewritten as a whole. */
  vectors_save_ms: 10_000,
  /** Maximum size of the vector file; a larger one was not written by turnbell. */
  vectors_file_bytes_max: 256 * 1024 * 1024,
  vector_dimension_max: 16_384,
  /** Maximum number of unreadable files listed in the status. */
  unreadable_files_max: 5,
  /** Maximum size of the entities or the relations of a project, about 40,000. */
  table_bytes_max: 8 * 1024 * 1024,
  /** Maximum size of the project's configuration. A YAML parser takes seconds for a few times as much. */
  project_config_bytes_max: 16 * 1024,
  /** Time without a change after which a file that is written in several steps counts as complete. */
  file_settle_ms: 200,
  file_settle_looks_max: 5,
  /** Interval at which an incomplete last line is checked before lines are appended after it. */
  file_half_line_look_ms: 25,
  /** Maximum number of such checks, in total 2 s. */
  file_half_line_looks_max: 80,
  /** Maximum number of attempts to append to a file that another program keeps replacing. */
  file_appends_max: 5,
  /** Maximum number of attempts to rewrite a file that another program keeps changing. */
  file_rewrites_max: 10,
  /** Maximum number of times that lines appended by others are copied during a rewrite. */
  file_tails_max: 50,
  /** Maximum number of versions of one record in a merge conflict, which are all merged. */
  record_versions_max: 16,
} as const
