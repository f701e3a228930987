import { expect, test } from 'vitest'
import { withRestrictedSubagents, withTurnbell } from '../../../../adapters/opencode/server-config.ts'

const BRIDGE = ['node', 'turnbell.js', 'mcp']
/** The bridge gets no password of the server. */
const SERVER = {
  ...{ type: 'local', command: BRIDGE, enabled: true },
  environment: { OPENCODE_SERVER_PASSWORD: '' },
}
const PLUGIN = ['file:///plugin.js', { persona: 'ada', home: '/home' }] as const
const merged = (content?: object, plugin: typeof PLUGIN | null = null) => {
  const text = content === undefined ? undefined : JSON.stringify(content)
  return JSON.parse(withTurnbell(text, BRIDGE, plugin)) as object
}
test('withTurnbell adds the MCP server, allows its drain, and denies it to subagents', () => {
  expect(merged()).toEqual({
    mcp: { turnbell: SERVER },
    permission: { turnbell_signals_pending: 'allow', turnbell_signals: 'allow' },
    agent: {
      general: { permission: { turnbell_signals_pending: 'deny' } },
      explore: { permission: { turnbell_signals_pending: 'deny' } },
    },
  })
})

test("withTurnbell keeps the person's limits on tool output", () => {
  const theirs = { tool_output: { max_bytes: 500 } }
  expect(merged(theirs)).toMatchObject(theirs)
  expect(JSON.parse(withRestrictedSubagents(JSON.stringify(theirs)))).toMatchObject(theirs)
  expect(JSON.parse(withRestrictedSubagents('{}'))).not.toHaveProperty('tool_output')
})

test("withTurnbell keeps the person's content of the variable", () => {
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

test('withTurnbell treats an empty variable as unset', () => {
  expect(JSON.parse(withTurnbell('', BRIDGE, null))).toEqual(merged())
})

test('withTurnbell accepts comments and trailing commas, as opencode does', () => {
  const content = '{\n  // not here\n  "permission": { "bash": "deny", },\n}'
  expect(JSON.parse(withTurnbell(content, BRIDGE, null))).toMatchObject({
    permission: { bash: 'deny' },
  })
  expect(JSON.parse(withRestrictedSubagents(content))).toMatchObject({ permission: { bash: 'deny' } })
})

test.each(['no JSON', '{"permission": {"bash": "deny"', '{} {}', '[]', '7', ' '])(
  'withTurnbell rejects the invalid content %j, because its rules would be lost',
  (content) => {
    const refused = expect.objectContaining({
      code: 'config_invalid',
      detail: expect.stringContaining('OPENCODE_CONFIG_CONTENT cannot be read') as string,
    }) as Error
    expect(() => withTurnbell(content, BRIDGE, null)).toThrow(refused)
    expect(() => withRestrictedSubagents(content)).toThrow(refused)
  },
)

test('withTurnbell adds the plugin after those of the person', () => {
  const theirs = { plugin: ['theirs', ['another', { a: 1 }]] }
  expect(merged(theirs, PLUGIN)).toMatchObject({ plugin: [...theirs.plugin, PLUGIN] })
  expect(merged({ plugin: 'no list' }, PLUGIN)).toMatchObject({ plugin: [PLUGIN] })
  expect(merged(theirs)).toMatchObject(theirs)
})
