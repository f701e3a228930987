/**
 * Parses the command line of `turnbell mcp`. Does not use commander, because the bridge starts with every
 * session of a client.
 */
import { parseArgs } from 'node:util'
import { McpDetail } from '../kernel/projections/project-mcp.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'

/** Options that take several values: `--facet core work` is `--facet core --facet work`. */
const MULTIPLE: ReadonlySet<string> = new Set(['--facet', '--facade'])

/** Throws `usage_invalid`. */
export function parseArguments(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: repeatFlags(argv),
      options: {
        home: { type: 'string' },
        persona: { type: 'string' },
        client: { type: 'string' },
        session: { type: 'string' },
        hub: { type: 'string' },
        'prefer-daemon': { type: 'string' },
        'no-autostart': { type: 'boolean' },
        create: { type: 'boolean' },
        // Accepted because similar tools need it; stdio is the only transport.
        stdio: { type: 'boolean' },
        json: { type: 'boolean' },
        facet: { type: 'string', multiple: true },
        facade: { type: 'string', multiple: true },
        'read-only': { type: 'boolean' },
        detail: { type: 'string' },
      },
    })
    if (values.detail !== undefined && !McpDetail.safeParse(values.detail).success) {
      throw new Error(`--detail: found ${values.detail}, expected one of ${McpDetail.options.join(', ')}`)
    }
    return values
  } catch (cause) {
    throw new TurnbellError('usage_invalid', {
      detail: cause instanceof Error ? cause.message : String(cause),
      hint: 'See `turnbell mcp --help`.',
      cause,
    })
  }
}

function repeatFlags(argv: readonly string[]): string[] {
  let flag: string | null = null
  return argv.flatMap((word, at) => {
    if (word.startsWith('-')) {
      flag = MULTIPLE.has(word) ? word : null
      return [word]
    }
    return flag === null || argv[at - 1] === flag ? [word] : [flag, word]
  })
}

/** The query for the hub's `/mcp`, with the bounds and the level of detail. */
export function narrowingQuery({
  facet = [],
  facade = [],
  detail,
  ...flags
}: ReturnType<typeof parseArguments>): string {
  const query = new URLSearchParams([
    ...facet.map((name): [string, string] => ['facet', name]),
    ...facade.map((name): [string, string] => ['facade', name]),
    ...(flags['read-only'] === true ? [['read_only', '1'] satisfies [string, string]] : []),
    ...(detail === undefined ? [] : [['detail', detail] satisfies [string, string]]),
  ])
  return query.size === 0 ? '' : `?${query.toString()}`
}
