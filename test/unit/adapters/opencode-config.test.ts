import { expect, test } from 'vitest'
import { withTurnbell } from '../../../adapters/opencode/server-config.ts'

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

test.each(['', 'no JSON', '[]', '7'])('takes %j for nothing', (content) => {
  expect(JSON.parse(withTurnbell(content, BRIDGE, null))).toEqual(merged())
})

test('loads the plugin after those of the person', () => {
  const theirs = { plugin: ['theirs', ['another', { a: 1 }]] }
  expect(merged(theirs, PLUGIN)).toMatchObject({ plugin: [...theirs.plugin, PLUGIN] })
  expect(merged({ plugin: 'no list' }, PLUGIN)).toMatchObject({ plugin: [PLUGIN] })
  expect(merged(theirs)).toMatchObject(theirs)
})
