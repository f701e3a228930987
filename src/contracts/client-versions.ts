/**
 * What turnbell needs of a client and since when the client has it. Where the client is older, the next
 * way is taken by itself; this is for saying so.
 */
import type { ClientKind } from './ids.ts'

interface Known {
  /** The version everything was last measured with, where the next series may be another client. */
  measured?: string
  needs: readonly { since: string; without: string }[]
}

/** From the client's own list of changes. */
const KNOWN: Record<ClientKind, Known> = {
  'claude-code': {
    measured: '2.1.329',
    needs: [
      { since: '2.1.118', without: 'its hooks cannot call turnbell, so turns are read from its registry' },
      { since: '2.1.163', without: 'a doorbell cannot be handed over at the end of a turn' },
      { since: '2.1.224', without: 'it has no inbox, so a terminal is woken by a hook that waits' },
    ],
  },
  // Its app-server's protocol is experimental, and moves with every version.
  codex: {
    measured: '0.169.0',
    needs: [
      {
        since: '0.169.0',
        without: 'its threads may have no queue, and then a doorbell begins a turn while they are idle',
      },
    ],
  },
  opencode: {
    needs: [],
  },
}

export interface Caution {
  what: string
  /** What to do about it. */
  mend: string
  /** It can be rung all the same. */
  rings: boolean
}

/** What should be known of this version, or null where it is one like those that were measured. */
export function cautionAbout(client: ClientKind, version: string): Caution | null {
  const known = KNOWN[client]
  const parts = partsOf(version)
  if (client === 'opencode' && parts !== null) {
    const fault = opencodeVersionFault(version)
    const mend = `Install opencode ${OPENCODE_MAJOR}.x; this one is not rung.`
    if (fault !== null) return { what: fault, mend, rings: false }
  }
  if (parts === null) return null
  const lacks = known.needs.filter(({ since }) => isBefore(parts, partsOf(since)))
  if (lacks.length > 0) {
    const what = lacks.map(({ since, without }) => `older than ${since}: ${without}`).join('; ')
    return { what, mend: 'Bring the client up to date; turnbell does what it can meanwhile.', rings: true }
  }
  if (known.measured === undefined) return null
  const measured = partsOf(known.measured) as Parts
  // A client that renews itself every day is mostly a little newer.
  if (parts[0] === measured[0] && parts[1] === measured[1]) return null
  const what = `of another series than ${known.measured}, with which turnbell was measured`
  const mend = isBefore(parts, measured)
    ? 'Bring the client up to date; turnbell does what it can meanwhile.'
    : 'Nothing has to be done; look for a newer turnbell if its doorbells do not come through.'
  return { what, mend, rings: true }
}

type Parts = readonly [major: number, minor: number, patch: number]

function partsOf(version: string): Parts | null {
  const found = /^(\d+)\.(\d+)\.(\d+)/.exec(version)
  return found === null ? null : [Number(found[1]), Number(found[2]), Number(found[3])]
}

function isBefore(one: Parts, other: Parts | null): boolean {
  if (other === null) return false
  const index = one.findIndex((part, at) => part !== other[at])
  return index !== -1 && (one[index] as number) < (other[index] as number)
}

// --- opencode

/** The API of another major version is another one. */
const OPENCODE_MAJOR = 1

/** What is wrong with a version of opencode, as it tells it itself; null for one that can be rung. */
export function opencodeVersionFault(version: string): string | null {
  if (Number.parseInt(version, 10) === OPENCODE_MAJOR) return null
  return `opencode ${version} has another API than ${OPENCODE_MAJOR}.x, which is what turnbell can ring`
}
