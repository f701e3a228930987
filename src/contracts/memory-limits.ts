/** The bounds of shared memory: a part of `LIMITS`, under which name they are used. */
export const MEMORY_LIMITS = {
  /** How often it is looked whether a blackboard has grown too long. */
  memory_sweep_ms: 60_000,
  /** What a reader sees of an entry or a decision in a list. */
  memory_summary_length_max: 200,
  /** What is longer belongs into a file of the project, which the entry names. */
  memory_text_length_max: 16_000,
  tag_length_max: 64,
  tags_max: 32,
  relates_max: 100,
  /** Alternatives, constraints, files, symbols of one decision. */
  decision_lines_max: 100,
  alternatives_max: 20,
  entries_page_default: 50,
  entries_page_max: 500,
  entries_recent_default: 20,
  search_results_default: 10,
  memory_results_max: 100,
  query_length_max: 2_000,
  /** Decisions of one `why`, `list` or chain; the newest, or the nearest. */
  decisions_page_default: 50,
  decisions_page_max: 200,
  /** Warnings that one decision posts about others it may contradict. */
  conflicts_told_max: 5,
  /** Of each of the two reasons in such a warning; the decisions have them whole. */
  conflict_reason_length_max: 7_500,
  /** After how long what could not be told of a decision is tried again. */
  outbox_retry_ms: 30_000,
  /** How often it is looked whether that time has come, and whether a memory was opened that nobody has looked through. */
  outbox_sweep_ms: 5_000,
  /** Of so many decisions at once, of each sort of what they owe. */
  outbox_batch_max: 25,
  /**
   * A decision as its file says it, with what it owes. What is made owes less; more comes only while nothing can be told.
   * Stays below `record_file_bytes_max`, for what a merge adds.
   */
  decision_file_bytes_max: 768 * 1024,
  graph_depth_max: 3,
  /** Relations on the way from one entity to another. */
  graph_path_length_max: 10,
  /** Of one look around an entity. */
  neighbors_max: 500,
  entity_name_length_max: 512,
  properties_max: 64,
  property_length_max: 1_024,
  /** One Markdown document. */
  export_bytes_max: 128 * 1024,
  /** Less holds not even what an empty answer says of itself. */
  assemble_tokens_min: 100,
  assemble_tokens_max: 32_000,
  brief_tokens_default: 2_000,
  /** Of one section. */
  brief_lines_max: 30,
  /** Of the reason for a decision. */
  brief_reason_length_max: 240,
  /** Of each of the lists of what has changed. */
  changes_max: 100,
  pin_length_max: 1_000,
  pins_max: 100,
  artifact_bytes_default: 32 * 1024,
  artifact_bytes_max: 128 * 1024,
  /** Of the summaries of what was archived. */
  archive_key_items: 5,
  /** Of one sort, in one call that takes over what another tool remembered. */
  import_items_max: 250,
  /** What the command line hands over in one such call. Below body_bytes_max. */
  import_call_bytes_max: 512 * 1024,
  /** Of one file of another tool. */
  import_file_bytes_max: 64 * 1024 * 1024,

  /** Names of entities that are held against one that is unknown: each takes as long as both are long, and the hub waits. */
  names_compared_max: 500,

  // Files that people, git and other programs write as well
  /** Lists and mappings in each other, in JSON of others. */
  json_depth_max: 64,
  /** The same in what comes over a wire, around which a call and its frame stand. */
  wire_depth_max: 128,
  /** Of a line of the journal: more than any call within a call ever brought together. */
  stored_depth_max: 512,
  /** Of an answer of the hub: what it keeps, with all that stands around it. */
  answer_depth_max: 600,
  /** A record has its limits where it is put; a file or line beyond this was never one. */
  record_file_bytes_max: 1024 * 1024,
  /** Texts that a model computes at once: all take as long as the longest, and a query may wait for others' batch. */
  embedder_batch_max: 16,
  /** A model that could not be loaded is not tried again for this long: trying takes seconds at worst. */
  embedder_retry_ms: 60_000,
  /** So many new texts are embedded before a query is answered; of more it does not wait for any. */
  search_waited_texts_max: 16,
  /** For the model to be loaded, and for all that it is asked. */
  search_wait_ms: 5_000,
  /** Vectors are written as a whole, so not after every text. */
  vectors_save_ms: 10_000,
  /** More than that was not written here, and would not fit into a text. */
  vectors_file_bytes_max: 256 * 1024 * 1024,
  vector_dimension_max: 16_384,
  /** Of files that cannot be read, the status names so many. */
  files_told_max: 5,
  /** All entities of a project, or all relations: some forty thousand. */
  table_bytes_max: 8 * 1024 * 1024,
  /** Nobody writes more by hand, and a parser of YAML takes seconds for some times that. */
  project_config_bytes_max: 16 * 1024,
  /** Who writes a file in several steps is through with it after this long without another. */
  file_settle_ms: 200,
  file_settle_looks_max: 5,
  /** Half a line that ours are to stand behind is looked at so often, and for two seconds at most. */
  file_half_line_look_ms: 25,
  file_half_line_looks_max: 80,
  /** How often lines are appended to a file that somebody keeps replacing. */
  file_appends_max: 5,
  /** How often a file is written anew that somebody keeps changing. */
  file_rewrites_max: 10,
  /** Foreign lines that come faster than this could be taken along are those of a program that never rests. */
  file_tails_max: 50,
  /** Of one record, that a merge has left. Nobody merges so many branches at once, and all of them are put together. */
  record_versions_max: 16,
} as const
