import { Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { TurnbellError, type Problem } from '../../../src/contracts/errors/errors.ts'
import { createProgram, runCli } from '../../../src/cli/program.ts'
import { withPersonaOption } from '../../../src/system/clients/persona-option.ts'
import { readFlags } from '../../../src/daemon/settings.ts'
import { parseArguments } from '../../../src/bridge/arguments.ts'
import { VERSION } from '../../../src/system/version.ts'
import { testCli } from '../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const cli = (options: Partial<Parameters<typeof testCli>[0]> = {}) =>
  testCli({ home: temporaryDirectory(), ...options })

describe('help', () => {
  test('help lists every command', async () => {
    const turnbell = cli()
    expect(await turnbell.run('--help')).toBe(0)
    const listed = [...turnbell.stdout().matchAll(/^ {2}([a-z]+)\b/gm)].map(([, name]) => name)
    for (const name of [
      ...['up', 'demo', 'hub', 'daemon', 'mcp', 'status', 'shutdown', 'notify', 'resume', 'persona'],
      ...['send', 'pending', 'call', 'service', 'token', 'paths', 'completion'],
    ]) {
      expect(listed).toContain(name)
    }
  })

  test('help of every command has --home, --json and an example', async () => {
    const turnbell = cli()
    const leaves = (command = createProgram(turnbell.cli), above: string[] = []): string[][] =>
      command.commands.flatMap((one) =>
        one.commands.length > 0 ? leaves(one, [...above, one.name()]) : [[...above, one.name()]],
      )
    for (const words of leaves()) {
      expect(await turnbell.run(...words, '--help'), words.join(' ')).toBe(0)
      expect(turnbell.stdout(), words.join(' ')).toMatch(/--home <dir>[^]*--json[^]*Example/)
    }
  })

  test('help of call lists the parameters of an action', async () => {
    const turnbell = cli()
    await turnbell.run('call', 'signals', 'ack', '--help')
    expect(turnbell.stdout()).toMatch(/upwards that has a \.turnbell/)
    expect(turnbell.stdout()).toMatch(/signal_ids\s+string\[\], required/)
  })

  test('help of call lists the actions for an unknown one', async () => {
    const turnbell = cli()
    await turnbell.run('call', 'signals', 'explode', '--help')
    expect(turnbell.stdout()).toContain('personas:')
  })
})

describe('turnbell help', () => {
  test('turnbell help prints the overview or the help of a command', async () => {
    const turnbell = cli()
    for (const [asked, same] of [
      [['help'], ['--help']],
      [
        ['help', 'send'],
        ['send', '--help'],
      ],
      [
        ['help', 'persona', 'add'],
        ['persona', 'add', '--help'],
      ],
      [
        ['help', 'call', 'signals', 'ack'],
        ['call', 'signals', 'ack', '--help'],
      ],
      [
        ['help', 'send', '--json'],
        ['send', '--help'],
      ],
    ] as const) {
      expect(await turnbell.run(...same)).toBe(0)
      const expected = turnbell.stdout()
      expect(await turnbell.run(...asked), asked.join(' ')).toBe(0)
      expect(turnbell.stdout()).toBe(expected)
    }
  })

  test('turnbell help of an unknown command suggests the nearest one', async () => {
    const turnbell = cli()
    expect(await turnbell.run('help', 'stauts')).toBe(64)
    expect(turnbell.stderr()).toMatch(/Unknown command 'stauts'.*\n.*Did you mean status/)
  })

  test('the word help as an argument is not a command', async () => {
    const turnbell = cli({
      hub: {
        'signals.send': () => {
          throw new TurnbellError('target_unknown', { detail: 'no ada' })
        },
      },
    })
    await turnbell.run('send', '--to', 'ada', 'help')
    expect(turnbell.hubCalls[0]?.params).toMatchObject({ payload: 'help' })
  })
})

describe('--identity', () => {
  test.each([[['--identity', 'ada']], [['--identity=ada']]])(
    '--identity is read as --persona: %j',
    async (words) => {
      const turnbell = cli()
      expect(await turnbell.run('paths', ...words, '--json')).toBe(0)
      expect(turnbell.json<{ log: string }>().log).toMatch(/ada\.log$/)
      expect(await turnbell.run('token', 'create', ...words, '--kind', 'agent', '--json')).toBe(0)
      await turnbell.run('daemon', ...words)
      expect(turnbell.bundles[0]?.args.slice(0, 2)).toEqual(['--persona', 'ada'])
    },
  )

  test('--identity after -- is unchanged', () => {
    expect(withPersonaOption(['--identity', 'a', '--', '--identity', 'b'])).toEqual([
      ...['--persona', 'a', '--', '--identity', 'b'],
    ])
  })
})

describe('an invalid command line', () => {
  test.each([
    ['an unknown command', ['stauts'], /^error Unknown command 'stauts'/, /Did you mean status/],
    [
      'an option cut short',
      ['send', '--to', 'ada', '--prio', '3'],
      /^error Unknown option '--prio'/,
      /Did you mean --priority/,
    ],
    ['an unknown option', ['status', '--jsno'], /^error Unknown option '--jsno'/, /Did you mean --json/],
    ['a missing option', ['send', 'hello'], /--to <name>/, /--help/],
    [
      'a missing argument',
      ['persona', 'add', '--surface', 'mcp'],
      /issing required argument 'name'/,
      /--help/,
    ],
    ['an incomplete command', ['persona'], /'turnbell persona' .*add, list, wrap/, /persona --help/],
    ['an unknown subcommand', ['persona', 'ad'], /^error Unknown command 'ad'/, /Did you mean add/],
    ['an invalid persona name', ['status', '--persona', 'Ada Lovelace'], /\[a-z0-9\]/, /--help/],
    ['an unknown surface', ['persona', 'add', 'ada', '--surface', 'emacs'], /Allowed choices/, /--help/],
    ['an abbreviated client', ['connect', 'claude'], /Allowed choices/, /Did you mean claude-code\?/],
    ['a surface misspelled', ['persona', 'add', 'ada', '--surface', 'opncode'], /choices/, /mean opencode\?/],
    ['a priority beyond 9', ['send', '--to', 'ada', '--priority', '10', 'x'], /from 0 to 9/, /--help/],
    ['a limit of zero', ['pending', '--persona', 'ada', '--limit', '0'], /from 1 to 100/, /--help/],
    ['an invalid duration', ['send', '--to', 'ada', '--ttl', 'soon', 'x'], /90s, 30m/, /--help/],
    ['an intent of two words', ['send', '--to', 'ada', '--intent', 'two words', 'x'], /intent/, /--help/],
    ['text and payload', ['send', '--to', 'ada', '--payload', '1', 'x'], /--payload/, /omit --payload/],
    ['invalid JSON', ['call', 'signals', 'send', '--params', '{to:ada}'], /not JSON/, /Quote it/],
    ['a missing file', ['call', 'signals', 'send', '--params', '@nowhere'], /cannot be read/, /path/],
    ['an empty home', ['status', '--home', ''], /--home is empty/, /omit --home/],
    ['too many words', ['status', 'ada'], /^error Too many arguments/, /turnbell status --help/],
    ['no service', ['service', 'status'], /--hub and --persona/, /--hub or --persona/],
    [
      'two services',
      ['service', 'status', '--hub', '--persona', 'a'],
      /--hub and --persona/,
      /--hub or --persona/,
    ],
    ['nothing to remove', ['persona', 'remove'], /persona and --project/, /--project/],
  ])('a command line with %s exits 64 with detail and hint', async (_, args, detail, hint) => {
    const turnbell = cli()
    expect(await turnbell.run(...args)).toBe(64)
    expect(turnbell.stdout()).toBe('')
    expect(turnbell.stderr()).toMatch(detail)
    expect(turnbell.stderr()).toMatch(hint)

    expect(await turnbell.run(...args, '--json')).toBe(64)
    expect(turnbell.stderr()).toBe('')
    expect(turnbell.json<Problem>()).toMatchObject({ code: 'usage_invalid', status: 400, retry: 'never' })
  })
})

describe('exit codes', () => {
  test('a command without a hub exits 69', async () => {
    const turnbell = cli()
    expect(await turnbell.run('persona', 'list')).toBe(69)
    expect(turnbell.stderr()).toContain('hub_unreachable')
    expect(turnbell.stderr()).toContain('turnbell up')
  })

  test('a command without a hub names no address if there is none', async () => {
    const turnbell = cli({ env: { TURNBELL_HUB_PORT: '0' } })
    expect(await turnbell.run('persona', 'list')).toBe(69)
    expect(turnbell.stderr()).toContain('no hub runs in')
    expect(turnbell.stderr()).not.toContain('127.0.0.1')
  })

  test('a command without a daemon exits 69', async () => {
    const turnbell = cli()
    for (const verb of ['status', 'shutdown', 'notify', 'resume']) {
      expect(await turnbell.run(verb, '--persona', 'ada', '--json'), verb).toBe(69)
      expect(turnbell.json<Problem>().code).toBe('daemon_unreachable')
    }
  })

  test('an invalid configuration exits 78 with file, key and allowed values', async () => {
    const turnbell = cli({ env: { TURNBELL_LOG_LEVEL: 'loud' } })
    expect(await turnbell.run('status')).toBe(78)
    expect(turnbell.stderr()).toMatch(/environment.*log\.level.*"trace"[^]*"loud"/)
  })

  test('a bug exits 1 with its stack', async () => {
    const broken = async () => Promise.reject(new RangeError('planted'))
    const turnbell = cli({ platform: 'linux', overrides: { runProgram: broken } })
    expect(await turnbell.run('service', 'status', '--hub', '--json')).toBe(1)
    expect(turnbell.json<Problem>()).toMatchObject({ code: 'internal', error_class: 'bug' })
    expect(turnbell.stdout()).not.toContain('planted')
    expect(turnbell.stderr()).toMatch(/RangeError: planted\n\s+at /)
  })
})

test.each([
  ['a result', ['paths'], 1],
  ['a problem', ['status', '--nonsense', '--json'], 64],
  ['help', [], 0],
])('a command whose reader is gone during %s reports only its exit code', async (_, args, code) => {
  const gone = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done(gone) })
  // Like main.ts.
  stdout.on('error', () => {})
  const { cli: world } = cli({ overrides: { stdout } })
  expect(await runCli(world, args)).toBe(code)
})

test('--version with --json is one document in any order', async () => {
  const turnbell = cli()
  for (const option of ['--version', '-V']) {
    expect(await turnbell.run(option)).toBe(0)
    expect(turnbell.stdout()).toBe(`${VERSION}\n`)
  }
  for (const args of [
    ['--version', '--json'],
    ['--json', '--version'],
  ]) {
    expect(await turnbell.run(...args)).toBe(0)
    expect(turnbell.json()).toEqual({ version: VERSION })
  }
})

test('global options are accepted before and after the command', async () => {
  const home = temporaryDirectory()
  const turnbell = testCli({ home: '/nowhere/at/all' })
  expect(await turnbell.run('paths', '--json', '--home', home)).toBe(0)
  expect(turnbell.json<{ home: string }>().home).toBe(home)
})

test('a bundle receives exactly the given options', async () => {
  const home = temporaryDirectory()
  const turnbell = testCli({ home })
  await turnbell.run('daemon', '--persona', 'ada', '--surface', 'mcp')
  await turnbell.run('mcp', '--no-autostart', '--facet', 'core', 'admin', '--persona', 'ada')
  expect(turnbell.bundles).toEqual([
    { name: 'daemon', args: ['--persona', 'ada', '--surface', 'mcp', '--home', home] },
    {
      name: 'bridge',
      args: ['--persona', 'ada', '--no-autostart', '--facet', 'core', '--facet', 'admin', '--home', home],
    },
  ])
})

describe('a bundle with a global option before its name', () => {
  const given = async (...words: string[]) => {
    const turnbell = testCli({ home: '/home/of/tests' })
    expect(await turnbell.run(...words), turnbell.stderr()).toBe(0)
    return turnbell.bundles.flatMap(({ args }) => args)
  }

  test('a bundle receives undeclared options unchanged', async () => {
    const mcp = [
      '--client',
      'codex',
      '--persona',
      'b',
      '--hub',
      'http://h',
      '--session=s',
      '--facet',
      'x',
      'y',
    ]
    expect(parseArguments(await given('mcp', ...mcp))).toEqual({
      ...parseArguments([...mcp, '--home', '/home/of/tests']),
    })
    const daemon = ['--persona', 'b', '--token-file', '/t', '--hub', 'http://h']
    expect(readFlags(await given('daemon', ...daemon))).toEqual({
      ...readFlags([...daemon, '--home', '/home/of/tests']),
    })
    expect((await given('hub', '--daemon', '--port', '0', '--sse')).sort()).toEqual(
      ['--daemon', '--port', '0', '--sse', '--home', '/home/of/tests'].sort(),
    )
  })

  test.each([['hub'], ['daemon'], ['mcp']])('the bundle %s refuses unknown options itself', async (name) => {
    const words = await given(name, '--persona', 'b', 'stray', '--nonsense', 'x')
    expect(words.slice(-3)).toEqual(['stray', '--nonsense', 'x'])
  })

  test('help of a bundle lists only options that it has', () => {
    const declared = (name: string) =>
      createProgram(cli().cli)
        .commands.find((command) => command.name() === name)
        ?.options.flatMap(({ long, required }) => [long ?? '', ...(required ? ['full'] : [])])
        .filter((word) => word !== '')
    expect(() => parseArguments(declared('mcp') ?? [])).not.toThrow()
    expect(() => readFlags(declared('daemon') ?? [])).not.toThrow()
  })
})
