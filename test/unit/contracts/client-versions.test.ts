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
  expect(caution?.what.split('; ')).toHaveLength(words.length)
  for (const word of words) expect(caution?.what).toContain(word)
  expect(caution?.mend).toContain('up to date')
})

test.each(['2.2.0', '3.0.0'])('Claude Code %s is of another series', (version) => {
  const caution = cautionAbout('claude-code', version)
  expect(caution).toMatchObject({ what: expect.stringContaining('another series') as string, rings: true })
  expect(caution?.mend).not.toContain('up to date')
})

test.each(['', 'latest', '2.1'])('%j is no version, and nothing is said of it', (version) => {
  expect(cautionAbout('claude-code', version)).toBeNull()
})

test('opencode of another major version cannot be rung, of the same it can', () => {
  expect(cautionAbout('opencode', '1.99.0')).toBeNull()
  expect(cautionAbout('opencode', '2.0.0')).toEqual({
    what: 'opencode 2.0.0 has another API than 1.x, which is what turnbell can ring',
    mend: 'Install opencode 1.x; this one is not rung.',
    rings: false,
  })
})

test('Codex is measured with one series, because its protocol is experimental', () => {
  expect(cautionAbout('codex', '0.169.3')).toBeNull()
  expect(cautionAbout('codex', '0.168.9')?.what).toContain('queue')
  expect(cautionAbout('codex', '0.170.0')?.what).toContain('another series')
})
