/** Limits of git repositories, a part of `LIMITS`. */
export const GIT_LIMITS = {
  /** Timeout of one git command. Less than hub_answer_ms, because a call runs several, and all but one are fast. */
  git_answer_ms: 20_000,
  git_output_bytes_max: 8 * 1024 * 1024,
  /** Maximum number of attempts to read a repository whose objects are being replaced. */
  git_tries_max: 3,
  /** Maximum number of concurrent git processes. */
  git_processes_max: 4,
  /** Maximum number of calls waiting for a git process. */
  git_waiting_max: 256,
  /** Maximum size of a list in a response, so that it fits frame_bytes_max. */
  git_list_bytes_max: 128 * 1024,
  git_files_max: 500,
  git_log_limit_default: 20,
  git_log_limit_max: 200,
  git_tags_limit_default: 50,
  git_tags_limit_max: 500,
  /** Maximum length of a subject or of a line of a file, in characters; longer text is truncated and marked. */
  git_text_length_max: 500,
  git_path_length_max: 4_096,
  git_revision_length_max: 256,
  git_blamed_file_bytes_max: 16 * 1024 * 1024,
  /** Number of lines shown above and below the requested line. */
  git_blame_context_default: 3,
  git_blame_context_max: 50,
  git_searched_text_length_max: 4_096,
  git_removals_default: 5,
  git_removals_max: 20,
  /** Maximum number of inspected commits that changed the number of occurrences. */
  git_removal_commits_max: 200,
  /** Maximum number of inspected files in one call. */
  git_removal_files_max: 200,
  git_removal_file_bytes_max: 1024 * 1024,
  /** Maximum size of the files of one removal, so that several fit into one list. */
  git_removal_bytes_max: 32 * 1024,
  git_removed_lines_max: 20,
  /** Number of commits whose messages are searched for issue references. */
  git_scan_limit_default: 100,
  git_scan_limit_max: 500,
  git_references_max: 50,
  /** Number of returned lines with a work marker such as TODO. */
  git_markers_default: 100,
  git_markers_max: 500,
  git_marker_words_max: 16,
  /** Maximum size of a file that is searched for work markers. */
  git_scanned_file_bytes_max: 1024 * 1024,
  /** Maximum size of a file that contains the location of a repository or of its objects. */
  git_pointer_bytes_max: 8_192,
  git_alternates_bytes_max: 64 * 1024,
  git_config_bytes_max: 1024 * 1024,
  /** Maximum number of checked git configuration files, including the first one. */
  git_includes_max: 64,
  issue_length_max: 128,
  commit_note_length_max: 500,
  commit_links_default: 100,
  commit_links_max: 500,
} as const
