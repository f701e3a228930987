/**
 * Minimum versions of clients for the features that turnbell uses, for warnings. With an older client the next delivery
 * path is used.
 */
import type { ClientKind } from '../ids.ts'

interface ClientRequirements {
  /** Measured versions, newest first; another minor series may behave differently. */
  measured: readonly string[]
  needs: readonly { since: string; without: string }[]
}

/** First Claude Code that loads modules of plugins. */
const MODULES_SINCE = '2.1.287'

/** From the changelog of each client. */
const REQUIREMENTS: Record<ClientKind, ClientRequirements> = {
  'claude-code': {
    measured: ['2.1.332', '2.1.329'],
    needs: [
      { since: '2.1.118', without: 'its hooks cannot call turnbell, so turns are read from its registry' },
      { since: '2.1.163', without: 'a doorbell cannot be delivered at the end of a turn' },
      { since: '2.1.224', without: 'it has no inbox, so a terminal is woken by a waiting hook' },
      {
        since: MODULES_SINCE,
        without: 'it loads no module, so a lost doorbell is noticed after ten seconds',
      },
    ],
  },
  // The protocol of its app-server is experimental and changes with every version.
  codex: {
    measured: ['0.171.0', '0.169.0'],
    needs: [
      {
        since: '0.169.0',
        without: 'its threads may have no queue, and a doorbell then starts a turn while they are idle',
      },
    ],
  },
  // Only its major version is checked.
  opencode: {
    measured: [],
    needs: [],
  },
}

export interface VersionWarning {
  what: string
  /** Suggested action. */
  fix: string
  /** Whether doorbells still work. */
  rings: boolean
}

/** Returns the warning about this version, or null if it behaves like a measured one. */
export function versionWarning(client: ClientKind, version: string): VersionWarning | null {
  const { needs, measured } = REQUIREMENTS[client]
  const parts = partsOf(version)
  if (client === 'opencode' && parts !== null) {
    const fault = opencodeVersionFault(version)
    const fix = `Install opencode ${OPENCODE_MAJOR}.x; this version does not get doorbells.`
    if (fault !== null) return { what: fault, fix, rings: false }
  }
  if (parts === null) return null
  const missing = needs.filter(({ since }) => isBefore(parts, partsOf(since)))
  if (missing.length > 0) {
    const what = missing.map(({ since, without }) => `older than ${since}: ${without}`).join('; ')
    return { what, fix: UPDATE, rings: true }
  }
  const [newest, ...former] = measured
  if (newest === undefined) return null
  // A client that updates itself every day is often slightly newer.
  if (measured.some((one) => isSameSeries(parts, partsOf(one)))) return null
  const named = [newest, ...former.filter((one) => !isSameSeries(partsOf(newest), partsOf(one)))].join(
    ' and ',
  )
  const what = `of another series than ${named}, with which turnbell was measured`
  const fix = isBefore(parts, partsOf(newest))
    ? UPDATE
    : 'Look for a newer turnbell if doorbells do not arrive; otherwise nothing has to be done.'
  return { what, fix, rings: true }
}

/** Returns the reason why this version of Claude Code loads no module of a plugin, or null if it does. */
export function moduleVersionFault(version: string): VersionWarning | null {
  const parts = partsOf(version)
  if (parts === null || !isBefore(parts, partsOf(MODULES_SINCE))) return null
  const what = `${version} is older than ${MODULES_SINCE}, the first that loads modules`
  return { what, fix: UPDATE, rings: true }
}

const UPDATE = 'Bring the client up to date; until then turnbell uses the features that it has.'

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

function isSameSeries(one: Parts | null, other: Parts | null): boolean {
  return one?.[0] === other?.[0] && one?.[1] === other?.[1]
}

// --- opencode

/** Other major versions have a different API. */
const OPENCODE_MAJOR = 1

/** Returns the problem of an opencode version, or null if doorbells work. */
export function opencodeVersionFault(version: string): string | null {
  if (Number.parseInt(version, 10) === OPENCODE_MAJOR) return null
  return `opencode ${version} has another API than ${OPENCODE_MAJOR}.x, which turnbell supports`
}
