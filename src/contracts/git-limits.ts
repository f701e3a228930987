/** The bounds of looking into repositories: a part of `LIMITS`, under which name they are used. */
export const GIT_LIMITS = {
  /** For one look. Below hub_answer_ms: a call looks a few times, and all but one are quick. */
  git_answer_ms: 20_000,
  git_output_bytes_max: 8 * 1024 * 1024,
  /** Git processes at a time, and calls that may wait for one to end. */
  git_processes_max: 4,
  git_waiting_max: 256,
  /** The list in one answer, so that it fits frame_bytes_max. */
  git_list_bytes_max: 128 * 1024,
  git_files_max: 500,
  git_log_limit_default: 20,
  git_log_limit_max: 200,
  git_tags_limit_default: 50,
  git_tags_limit_max: 500,
  /** A subject or a line of a file; what is longer is cut, and says so. */
  git_text_length_max: 500,
  git_path_length_max: 4_096,
  git_revision_length_max: 256,
  /** Lines shown above and below the one asked for. */
  git_blame_context_default: 3,
  git_blame_context_max: 50,
  git_searched_text_length_max: 4_096,
  git_removals_default: 5,
  git_removals_max: 20,
  /** Commits in which the number of occurrences changed that are looked into. */
  git_removal_commits_max: 200,
  /** Files that are looked into in one call, and how large each may be. */
  git_removal_files_max: 200,
  git_removal_file_bytes_max: 1024 * 1024,
  /** Of the files of one removal; it fits a list with others. */
  git_removal_bytes_max: 32 * 1024,
  git_removed_lines_max: 20,
  /** Commits whose messages are searched for issues. */
  git_scan_limit_default: 100,
  git_scan_limit_max: 500,
  git_references_max: 50,
  /** A line that is marked as work to do; and how large a file may be whose lines are shown. */
  git_markers_default: 100,
  git_markers_max: 500,
  git_marker_words_max: 16,
  git_scanned_file_bytes_max: 1024 * 1024,
  issue_length_max: 128,
  commit_note_length_max: 500,
  commit_links_default: 100,
  commit_links_max: 500,
} as const
