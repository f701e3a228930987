import { describe, expect, test } from 'vitest'
import { withCarefulSubagents, withTurnbell, type Shown } from '../../../adapters/opencode/server-config.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { defangText } from '../../../src/modules/signals/defang.ts'

const BRIDGE = ['node', 'turnbell.js', 'mcp']
/** Nobody but the server itself needs its password. */
const SERVER = {
  ...{ type: 'local', command: BRIDGE, enabled: true },
  environment: { OPENCODE_SERVER_PASSWORD: '' },
}
const PLUGIN = ['file:///plugin.js', { persona: 'ada', home: '/home' }] as const
const merged = (content?: object, plugin: typeof PLUGIN | null = null) => {
  const text = content === undefined ? undefined : JSON.stringify(content)
  return JSON.parse(withTurnbell(text, BRIDGE, plugin, showing())) as object
}
/** What a person's files say, beside a version that can be told. */
const showing = (files: readonly string[] = [], version: string | null = '1.14.25'): Shown => ({
  version,
  files,
})

test('adds the MCP server, lets its drain pass, keeps it from subagents, and has it shown whole', () => {
  expect(merged()).toEqual({
    mcp: { turnbell: SERVER },
    permission: { turnbell_signals_pending: 'allow', turnbell_signals: 'allow' },
    agent: {
      general: { permission: { turnbell_signals_pending: 'deny' } },
      explore: { permission: { turnbell_signals_pending: 'deny' } },
    },
    tool_output: { max_bytes: 131_072 },
  })
})

describe.each([
  ['its own server', (content: string, shown: Shown) => withTurnbell(content, BRIDGE, null, shown)],
  ['an agent behind acp', withCarefulSubagents],
])('what %s shows of an answer', (_, configOf) => {
  const shown = (variable: object, files: string[] = [], version: string | null = '1.14.25') => {
    const config = configOf(JSON.stringify(variable), showing(files, version))
    return (JSON.parse(config) as Record<'tool_output', unknown>).tool_output
  }

  test('is as much as a person says, wherever that stands', () => {
    const says = { tool_output: { max_bytes: 500 } }
    expect(shown(says)).toEqual({ max_bytes: 500 })
    // Left out of the variable, which would win over it.
    expect(shown({}, ['{}', `// enough\n${JSON.stringify(says)}`])).toBeUndefined()
    expect(shown({ tool_output: { max_lines: 9 } }, [JSON.stringify(says)])).toEqual({ max_lines: 9 })
  })

  test('is whole beside a word on lines, and up to the person in another form', () => {
    expect(shown({ tool_output: { max_lines: 9 } })).toEqual({ max_lines: 9, max_bytes: 131_072 })
    expect(shown({}, ['{"tool_output": {"max_lines": 9}}'])).toEqual({ max_bytes: 131_072 })
    expect(shown({}, ['{"tool_output": false}'])).toBeUndefined()
    expect(shown({ tool_output: false })).toBe(false)
  })

  // It would take nothing of the variable then, and open no session.
  test.each(['1.14.24', '1.3.2', '0.0.0-dev-202604230000', null])('is its own affair in %s', (version) => {
    expect(shown({}, [], version)).toBeUndefined()
    expect(shown({ tool_output: { max_lines: 9 } }, [], version)).toEqual({ max_lines: 9 })
  })

  test.each(['', 'no JSON', '[]', '{"tool_output"'])('is whole beside a file that says %j', (file) => {
    expect(shown({}, [file])).toEqual({ max_bytes: 131_072 })
  })
})

test('holds the largest signal, made harmless, with all that stands around it', () => {
  const largest = defangText('<|a|>'.repeat(LIMITS.payload_bytes_max / 5))
  expect(Buffer.byteLength(largest) + 4_096).toBeLessThan(131_072)
})

test('keeps what a person has in the variable', () => {
  const theirs = {
    model: 'p/m',
    mcp: { other: { type: 'remote' } },
    permission: 'ask',
    agent: { general: { model: 'p/small', permission: { bash: 'deny' } }, mine: { mode: 'subagent' } },
  }
  expect(merged(theirs)).toMatchObject({
    model: 'p/m',
    mcp: { other: { type: 'remote' }, turnbell: {} },
    permission: { '*': 'ask', turnbell_signals: 'allow' },
    agent: { general: { model: 'p/small', permission: { bash: 'deny' } }, mine: { mode: 'subagent' } },
  })
})

test('takes an empty variable for nothing', () => {
  expect(JSON.parse(withTurnbell('', BRIDGE, null, showing()))).toEqual(merged())
})

test('reads it as opencode does, with comments and a comma too many', () => {
  const content = '{\n  // not here\n  "permission": { "bash": "deny", },\n}'
  expect(JSON.parse(withTurnbell(content, BRIDGE, null, showing()))).toMatchObject({
    permission: { bash: 'deny' },
  })
  expect(JSON.parse(withCarefulSubagents(content, showing()))).toMatchObject({ permission: { bash: 'deny' } })
})

test.each(['no JSON', '{"permission": {"bash": "deny"', '{} {}', '[]', '7', ' '])(
  'refuses %j, because what it forbids would be dropped unsaid',
  (content) => {
    const refused = expect.objectContaining({
      code: 'config_invalid',
      detail: expect.stringContaining('OPENCODE_CONFIG_CONTENT cannot be read') as string,
    }) as Error
    expect(() => withTurnbell(content, BRIDGE, null, showing())).toThrow(refused)
    expect(() => withCarefulSubagents(content, showing())).toThrow(refused)
  },
)

test('loads the plugin after those of the person', () => {
  const theirs = { plugin: ['theirs', ['another', { a: 1 }]] }
  expect(merged(theirs, PLUGIN)).toMatchObject({ plugin: [...theirs.plugin, PLUGIN] })
  expect(merged({ plugin: 'no list' }, PLUGIN)).toMatchObject({ plugin: [PLUGIN] })
  expect(merged(theirs)).toMatchObject(theirs)
})
