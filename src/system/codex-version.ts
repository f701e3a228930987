/** Which Codex this was built for, and what another one may lack. */

/** The one whose app-server was measured; its protocol is experimental, so the next may differ. */
const MEASURED = { major: 0, minor: 169 }

export interface CodexVersion {
  /** Null where the text names none. */
  version: string | null
  known: boolean
  /** What to expect of one that is not known, for a log or for `doctor`. */
  remark: string | null
}

/** From what `codex --version` prints, or an app-server says of itself. */
export function codexVersion(text: string): CodexVersion {
  const found = /(?:^|[ /])(\d+)\.(\d+)\.(\d+\S*)/.exec(text)
  if (found === null) {
    return {
      version: null,
      known: false,
      remark: 'This Codex does not tell its version; 0.169 is known to work.',
    }
  }
  const [, major = '', minor = '', patch = ''] = found
  const version = `${major}.${minor}.${patch}`
  const distance = (Number(major) - MEASURED.major) * 1_000 + Number(minor) - MEASURED.minor
  if (distance === 0) return { version, known: true, remark: null }
  const remark =
    distance < 0
      ? `Codex ${version} is older than 0.169. Where it has no queue for its threads, a doorbell begins a turn while the thread is idle; better update it.`
      : `Codex ${version} is newer than 0.169, with which turnbell was measured. It is used all the same; look here first if a doorbell stays out.`
  return { version, known: false, remark }
}
