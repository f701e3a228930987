import { describe, expect, test } from 'vitest'
import { Config } from '../../../src/contracts/config.ts'
import { readFlags, settingsFrom } from '../../../src/daemon/settings.ts'

const config = Config.parse({
  daemon: { bell_receipt_ms: 500 },
  personas: {
    ada: { surface: 'command', command: { argv: ['agent'] } },
    bob: { surface: 'command' },
    dan: { surface: 'codex' },
    eve: { surface: 'claude-code' },
    oto: { surface: 'opencode' },
    gem: { surface: 'command', acp: { argv: ['gemini', '--acp'] } },
    hal: { surface: 'claude-code', headless: true },
    tam: { surface: 'tmux', tmux: { pane: '%3' } },
  },
})

describe("a daemon's settings", () => {
  test.each([
    ['no persona', [], '--persona is missing'],
    ['an invalid name', ['--persona', 'Ada Lovelace'], '"Ada Lovelace"'],
    ['a path', ['--persona', '../ada'], '"../ada"'],
    ['a reserved name', ['--persona', 'operator', '--surface', 'mcp'], 'reserved'],
    ['a persona without a surface', ['--persona', 'zoe'], 'personas.zoe'],
    ['a tmux surface without a pane', ['--persona', 'bob', '--surface', 'tmux'], 'pane'],
    ['an unknown surface', ['--persona', 'ada', '--surface', 'emacs'], '"emacs"'],
  ])('a daemon started with %s refuses to start', (_, argv, detail) => {
    const start = () => settingsFrom(readFlags(argv), config)
    expect(start).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    expect(start).toThrow(detail)
  })

  test.each([[['--remote', 'x']], [['--persona']], [['ada']], [['--persona=ada', '--json=1']]])(
    'the arguments %j are usage_invalid',
    (argv) => {
      expect(() => readFlags(argv)).toThrow(expect.objectContaining({ code: 'usage_invalid' }))
    },
  )

  test('the surface is taken from the configuration, and overridden by the flag', () => {
    expect(settingsFrom(readFlags(['--persona', 'eve']), config).surface).toBe('claude-code')
    expect(settingsFrom(readFlags(['--persona', 'eve', '--surface', 'mcp']), config).surface).toBe('mcp')
  })

  test('a shim is started for owned and configured surfaces; all but commands give receipts', () => {
    const of = (name: string) => settingsFrom(readFlags(['--persona', name]), config)
    const trusts = { receipts: true }
    expect(of('ada')).toMatchObject({
      shim: 'command/shim.js',
      rules: { receipts: false, bell_receipt_ms: 500 },
    })
    expect(of('bob')).toMatchObject({ shim: null, rules: trusts })
    expect(of('dan')).toMatchObject({ shim: 'codex/shim.js', rules: trusts })
    expect(of('eve')).toMatchObject({ shim: null, rules: trusts })
    expect(of('oto')).toMatchObject({ shim: 'opencode/shim.js', rules: trusts })
    expect(of('gem')).toMatchObject({ shim: 'acp/shim.js', rules: trusts })
    expect(of('hal')).toMatchObject({ shim: 'claude-code/headless.js', rules: trusts })
    expect(of('tam')).toMatchObject({ shim: 'tmux/shim.js', rules: trusts })
  })

  test('a surface given by the flag ignores settings of the configured one', () => {
    const of = (...argv: string[]) => settingsFrom(readFlags(argv), config)
    expect(of('--persona', 'gem', '--surface', 'mcp').shim).toBe(null)
    expect(of('--persona', 'hal', '--surface', 'codex').shim).toBe('codex/shim.js')
  })
})
