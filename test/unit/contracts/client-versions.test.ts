/** Clients that are older than what turnbell needs, or of another series. */
import { expect, test } from 'vitest'
import { cautionAbout } from '../../../src/contracts/client-versions.ts'

test.each(['2.1.224', '2.1.329', '2.1.1000', '2.1.330-beta.1'])(
  'Claude Code %s is as it should be',
  (version) => {
    expect(cautionAbout('claude-code', version)).toBeNull()
  },
)

test.each([
  ['2.1.223', ['inbox']],
  ['2.1.162', ['end of a turn', 'inbox']],
  ['2.0.999', ['hooks', 'end of a turn', 'inbox']],
  ['1.9.0', ['hooks', 'end of a turn', 'inbox']],
])('Claude Code %s lacks %s', (version, words) => {
  const caution = cautionAbout('claude-code', version)
  expect(caution?.split('; ')).toHaveLength(words.length)
  for (const word of words) expect(caution).toContain(word)
})

test.each(['2.2.0', '3.0.0'])('Claude Code %s is of another series', (version) => {
  expect(cautionAbout('claude-code', version)).toContain('another series')
})

test.each(['', 'latest', '2.1'])('%j is no version, and nothing is said of it', (version) => {
  expect(cautionAbout('claude-code', version)).toBeNull()
})

test('opencode of another major version cannot be rung, of the same it can', () => {
  expect(cautionAbout('opencode', '1.99.0')).toBeNull()
  expect(cautionAbout('opencode', '2.0.0')).toBe(
    'opencode 2.0.0 has another API than 1.x, which is what turnbell can ring',
  )
})

test('Codex is measured with one series, because its protocol is experimental', () => {
  expect(cautionAbout('codex', '0.169.3')).toBeNull()
  expect(cautionAbout('codex', '0.168.9')).toContain('queue')
  expect(cautionAbout('codex', '0.170.0')).toContain('another series')
})
