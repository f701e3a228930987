import { expect, test } from 'vitest'
import { withCarefulSubagents, withTurnbell } from '../../../adapters/opencode/server-config.ts'

const BRIDGE = ['node', 'turnbell.js', 'mcp']
/** Nobody but the server itself needs its password. */
const SERVER = {
  ...{ type: 'local', command: BRIDGE, enabled: true },
  environment: { OPENCODE_SERVER_PASSWORD: '' },
}
const PLUGIN = ['file:///plugin.js', { persona: 'ada', home: '/home' }] as const
const merged = (content?: object, plugin: typeof PLUGIN | null = null) => {
  const text = content === undefined ? undefined : JSON.stringify(content)
  return JSON.parse(withTurnbell(text, BRIDGE, plugin)) as object
}
test('adds the MCP server, lets its drain pass, and keeps it from subagents', () => {
  expect(merged()).toEqual({
    mcp: { turnbell: SERVER },
    permission: { turnbell_signals_pending: 'allow', turnbell_signals: 'allow' },
    agent: {
      general: { permission: { turnbell_signals_pending: 'deny' } },
      explore: { permission: { turnbell_signals_pending: 'deny' } },
    },
  })
})

test("leaves the person's bounds on tool output as they are", () => {
  const theirs = { tool_output: { max_bytes: 500 } }
  expect(merged(theirs)).toMatchObject(theirs)
  expect(JSON.parse(withCarefulSubagents(JSON.stringify(theirs)))).toMatchObject(theirs)
  expect(JSON.parse(withCarefulSubagents('{}'))).not.toHaveProperty('tool_output')
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
  expect(JSON.parse(withTurnbell('', BRIDGE, null))).toEqual(merged())
})

test('reads it as opencode does, with comments and a comma too many', () => {
  const content = '{\n  // not here\n  "permission": { "bash": "deny", },\n}'
  expect(JSON.parse(withTurnbell(content, BRIDGE, null))).toMatchObject({
    permission: { bash: 'deny' },
  })
  expect(JSON.parse(withCarefulSubagents(content))).toMatchObject({ permission: { bash: 'deny' } })
})

test.each(['no JSON', '{"permission": {"bash": "deny"', '{} {}', '[]', '7', ' '])(
  'refuses %j, because what it forbids would be dropped unsaid',
  (content) => {
    const refused = expect.objectContaining({
      code: 'config_invalid',
      detail: expect.stringContaining('OPENCODE_CONFIG_CONTENT cannot be read') as string,
    }) as Error
    expect(() => withTurnbell(content, BRIDGE, null)).toThrow(refused)
    expect(() => withCarefulSubagents(content)).toThrow(refused)
  },
)

test('loads the plugin after those of the person', () => {
  const theirs = { plugin: ['theirs', ['another', { a: 1 }]] }
  expect(merged(theirs, PLUGIN)).toMatchObject({ plugin: [...theirs.plugin, PLUGIN] })
  expect(merged({ plugin: 'no list' }, PLUGIN)).toMatchObject({ plugin: [PLUGIN] })
  expect(merged(theirs)).toMatchObject(theirs)
})
