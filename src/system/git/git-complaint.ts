/**
 * Filter for error messages of git, which quote the files that it read: a line of packed-refs, a path of the
 * alternates, a name in a list of revisions. If one of these files is a link, the quote is from any file. Therefore
 * only messages of known forms that quote no file are shown.
 */
const COMPLAINT_LENGTH_MAX = 500

const SHOWN: readonly RegExp[] = [
  /^detected dubious ownership in repository at [^]*$/,
  /^not a git repository \(or any .*$/m,
  /^cannot change to '.*': .*$/m,
  /^this operation must be run in a work tree$/m,
  /^could not open object name list: .*$/m,
  /^file .* has only \d+ lines?$/m,
  /^no such path '.*' in HEAD$/m,
  /^no such ref: HEAD$/m,
  /^Cannot lstat '.*': .*$/m,
  /^bad config line \d+ in file .*$/m,
  /^(bad signature|index file corrupt|index file smaller than expected).*$/m,
  /^your current branch '.*' does not have any commits yet$/m,
  /^bad object [0-9a-f]{40,64}$/m,
  /^unable to read tree \(?[0-9a-f]{40,64}\)?$/m,
  /^.*: Too many open files$/m,
]

/** Returns one sentence: the message, or the exit status. */
export function shownMessage(stderr: string, exit_code: number | null): string {
  const message = stderr.replace(/^(fatal|error|warning): /gm, '').trim()
  for (const form of SHOWN) {
    const [shown] = form.exec(message) ?? []
    if (shown !== undefined) return shown.slice(0, COMPLAINT_LENGTH_MAX)
  }
  return `It exited with code ${exit_code ?? 'none'}; run it there by hand to see its message.`
}
