/** The command line of `turnbell mcp`. Read without commander: the bridge starts with every session of a client. */
import { parseArgs } from 'node:util'
import { McpDetail } from '../../kernel/project-mcp.ts'
import { TurnbellError } from '../../contracts/errors.ts'

/** Options that take several values: `--facet core work` is `--facet core --facet work`. */
const SEVERAL: ReadonlySet<string> = new Set(['--facet', '--facade'])

/** Throws `usage_invalid`. */
export function argumentsIn(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: oneValueEach(argv),
      options: {
        home: { type: 'string' },
        persona: { type: 'string' },
        client: { type: 'string' },
        session: { type: 'string' },
        hub: { type: 'string' },
        'prefer-daemon': { type: 'string' },
        'no-autostart': { type: 'boolean' },
        create: { type: 'boolean' },
        // Stdio is all there is; the flag is what other tools of this kind are started with.
        stdio: { type: 'boolean' },
        json: { type: 'boolean' },
        facet: { type: 'string', multiple: true },
        facade: { type: 'string', multiple: true },
        'read-only': { type: 'boolean' },
        detail: { type: 'string' },
      },
    })
    if (values.detail !== undefined && !McpDetail.safeParse(values.detail).success) {
      throw new Error(`--detail is one of ${McpDetail.options.join(', ')}, not ${values.detail}`)
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

function oneValueEach(argv: readonly string[]): string[] {
  let several: string | null = null
  return argv.flatMap((word, at) => {
    if (word.startsWith('-')) {
      several = SEVERAL.has(word) ? word : null
      return [word]
    }
    return several === null || argv[at - 1] === several ? [word] : [several, word]
  })
}

/** The bounds and the detail as the hub's `/mcp` is told them. */
export function queryOf({
  facet = [],
  facade = [],
  detail,
  ...flags
}: ReturnType<typeof argumentsIn>): string {
  const query = new URLSearchParams([
    ...facet.map((name): [string, string] => ['facet', name]),
    ...facade.map((name): [string, string] => ['facade', name]),
    ...(flags['read-only'] === true ? [['read_only', '1'] satisfies [string, string]] : []),
    ...(detail === undefined ? [] : [['detail', detail] satisfies [string, string]]),
  ])
  return query.size === 0 ? '' : `?${query.toString()}`
}
