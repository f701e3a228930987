import { expect, test } from 'vitest'
import { withTurnbell } from '../../../adapters/opencode/server-config.ts'

const BRIDGE = ['node', 'turnbell.js', 'mcp']
const merged = (content?: object) =>
  JSON.parse(withTurnbell(content === undefined ? undefined : JSON.stringify(content), BRIDGE)) as object

test('adds the MCP server, lets its drain pass, and keeps it from subagents', () => {
  expect(merged()).toEqual({
    mcp: { turnbell: { type: 'local', command: BRIDGE, enabled: true } },
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
  expect(JSON.parse(withTurnbell(content, BRIDGE))).toEqual(merged())
})
