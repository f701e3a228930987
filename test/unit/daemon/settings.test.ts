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
  },
})

describe('a daemon', () => {
  test.each([
    ['nobody', [], 'no persona is named'],
    ['a name that is none', ['--persona', 'Ada Lovelace'], '"Ada Lovelace"'],
    ['a path', ['--persona', '../ada'], '"../ada"'],
    ['a reserved name', ['--persona', 'operator', '--surface', 'mcp'], 'reserved'],
    ['somebody without a surface', ['--persona', 'zoe'], 'personas.zoe'],
    ['a surface that is none', ['--persona', 'ada', '--surface', 'emacs'], '"emacs"'],
  ])('that is told %s refuses to start', (_, argv, detail) => {
    const start = () => settingsFrom(readFlags(argv), config)
    expect(start).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    expect(start).toThrow(detail)
  })

  test.each([[['--remote', 'x']], [['--persona']], [['ada']], [['--persona=ada', '--json=1']]])(
    'does not understand %j',
    (argv) => {
      expect(() => readFlags(argv)).toThrow(expect.objectContaining({ code: 'usage_invalid' }))
    },
  )

  test('takes its surface from the configuration, and from the flag above it', () => {
    expect(settingsFrom(readFlags(['--persona', 'eve']), config).surface).toBe('claude-code')
    expect(settingsFrom(readFlags(['--persona', 'eve', '--surface', 'mcp']), config).surface).toBe('mcp')
  })

  test('starts a shim where it owns the surface, or is told what to run; all but commands give receipts', () => {
    const of = (name: string) => settingsFrom(readFlags(['--persona', name]), config)
    expect(of('ada')).toMatchObject({ supervised: true, rules: { receipts: false, bell_receipt_ms: 500 } })
    expect(of('bob')).toMatchObject({ supervised: false, rules: { receipts: true } })
    expect(of('dan')).toMatchObject({ supervised: true, rules: { receipts: true } })
    expect(of('eve')).toMatchObject({ supervised: false, rules: { receipts: true } })
    expect(of('oto')).toMatchObject({ supervised: true, rules: { receipts: true } })
  })
})
