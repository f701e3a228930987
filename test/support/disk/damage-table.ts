/**
 * The effect of damage to each file and directory of a home, with hub and daemon stopped and with them running. The
 * test that enumerates a real home fails for a path that is not listed, so each new file needs an entry.
 */
import { DAMAGES_OF, type Damage, type Kind } from './damage.ts'

/**
 * `heals`: everything works and no accepted signal is missing. `starts empty`: the store loses its content and everything
 * works. Any other value is the error code. The tests follow doctor's advice to recover.
 */
export type Outcome =
  | 'heals'
  | 'starts empty'
  | 'store_damaged'
  | 'store_unavailable'
  | 'home_not_permitted'
  | 'config_invalid'

/**
 * The test that covers an entry: stores in this process, the parts of a start, the spool, a daemon in this process, a
 * lock, or real processes.
 */
export type Part = 'store' | 'start' | 'spool' | 'daemon' | 'lock' | 'processes'

type Outcomes = Partial<Record<Damage, Outcome>> & { otherwise: Outcome }

export interface Row {
  /** Relative to the home. */
  path: RegExp
  kind: Kind
  part: Part
  stopped: Outcomes
  /** Outcome of the next receipt, or of the next operation of the process. */
  running: Outcomes
}

const HEALS = { otherwise: 'heals' } as const
const row =
  (kind: Kind) =>
  (path: RegExp, part: Part, stopped: Outcomes = HEALS, running: Outcomes = HEALS): Row => ({
    ...{ path, kind, part, stopped, running },
  })
const file = row('file')
const directory = row('directory')

/** A record without its directory counts as never written. */
const NO_DIRECTORY = { otherwise: 'store_unavailable', missing: 'heals', emptied: 'heals' } as const
const NOT_PERMITTED = { otherwise: 'home_not_permitted', missing: 'heals', emptied: 'heals' } as const

export const TABLE: readonly Row[] = [
  file(
    /^hub\/journal\/\d{10}\.jsonl$/,
    'store',
    { otherwise: 'store_damaged' },
    { otherwise: 'store_damaged' },
  ),
  file(
    /^hub\/journal\/epoch$/,
    'store',
    // Half of a number and a newline is still the complete number.
    {
      otherwise: 'store_damaged',
      missing: 'heals',
      'cut in half': 'heals',
      'a link to nowhere': 'heals',
    },
    {
      otherwise: 'store_damaged',
      missing: 'store_unavailable',
      'cut in half': 'heals',
      'a link to nowhere': 'store_unavailable',
    },
  ),
  file(/^hub\/high-water\.json$/, 'store'),
  file(/^hub\/snapshot\/index\.bin$/, 'store'),
  file(/^hub\/events\/events(\.1)?\.jsonl$/, 'store'),
  file(/^hub\/records\/[a-z_]+\/[^/]+\.json$/, 'store'),
  directory(
    /^hub$/,
    'store',
    // Nothing remains that proves earlier data, so this is the way to start with an empty home.
    { otherwise: 'home_not_permitted', missing: 'starts empty', emptied: 'starts empty' },
    { otherwise: 'store_unavailable' },
  ),
  directory(
    /^hub\/journal$/,
    'store',
    { otherwise: 'store_damaged', 'a file': 'store_unavailable' },
    { otherwise: 'store_unavailable' },
  ),
  directory(/^hub\/(snapshot|events)$/, 'store'),
  directory(/^hub\/records(\/[a-z_]+)?$/, 'store', NO_DIRECTORY, NO_DIRECTORY),

  file(/^config\.yaml$/, 'start', {
    otherwise: 'config_invalid',
    missing: 'heals',
    emptied: 'heals',
    'a directory': 'home_not_permitted',
    'a link to nowhere': 'heals',
  }),
  file(/^secrets\/operator\.token$/, 'start', {
    otherwise: 'home_not_permitted',
    missing: 'heals',
    // The remaining text is valid and is read the same way by every reader.
    'cut in half': 'heals',
    garbage: 'heals',
  }),
  file(/^secrets\/signing\.key$/, 'start', { otherwise: 'home_not_permitted', missing: 'heals' }),
  file(/^logs\/(hub|[a-z0-9._-]+)\.log$/, 'start'),
  file(/^logs\/dispatch\.jsonl$/, 'start'),
  directory(/^(secrets|logs|spool)$/, 'start', NOT_PERMITTED),

  file(/^spool\/(hooks|waiting|rejected)\.jsonl$/, 'spool'),
  file(/^spool\/[0-9A-Z]{26}\.taken(\.done)?$/, 'spool'),

  file(/^run\/[^/]+\/[^/]+\/daemon\.(pid|state\.json)$/, 'daemon'),
  file(/^run\/[^/]+\/[^/]+\/metrics\.prom$/, 'daemon'),
  row('socket')(/^run\/[^/]+\/[^/]+\/(control|surface)\.sock$/, 'daemon'),
  // A running daemon survives but is unreachable; it recovers by itself when the obstacle is removed.
  directory(/^run(\/[^/]+){0,2}$/, 'daemon', NOT_PERMITTED, NOT_PERMITTED),

  row('lock')(/^(hub\/(store\.)?|run\/[^/]+\/[^/]+\/daemon\.)lock$/, 'lock'),
  // If the owner is unreadable, its liveness is unknown.
  file(
    /^(hub\/(store\.)?|run\/[^/]+\/[^/]+\/daemon\.)lock\.owner$/,
    'lock',
    { otherwise: 'heals', 'a directory': 'store_unavailable' },
    { otherwise: 'heals', 'a directory': 'store_unavailable' },
  ),
  file(/^hub\/(hub\.pid|port)$/, 'processes'),
]

export const rowOf = (path: string): Row | undefined => TABLE.find((one) => one.path.test(path))

export const outcomeOf = (path: string, when: 'stopped' | 'running', damage: Damage): Outcome => {
  const { [when]: outcomes } = rowOf(path) as Row
  return outcomes[damage] ?? outcomes.otherwise
}

/** Returns every combination of these paths with every damage of their kind. */
export const cellsOf = (paths: readonly string[]): { path: string; damage: Damage }[] =>
  paths.flatMap((path) => DAMAGES_OF[rowOf(path)?.kind ?? 'file'].map((damage) => ({ path, damage })))
