import path from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { exitCode, main } from '../../soak/main.ts'
import { calmEnding, throwOnExit } from '../../support/command/called-command.ts'
import { Violation } from '../../support/violation.ts'
import { result } from './result.ts'

afterEach(() => vi.restoreAllMocks())

/** Returns the response to a command line; no process is started. */
async function told(line: string): Promise<{ outcome: string; said: string; complained: string }> {
  const said = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const complained = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  throwOnExit()
  const prepare = () => {
    throw new Error('begins')
  }
  const outcome = await main(line.split(' '), calmEnding, prepare).then(String, String)
  return { outcome, said: said.mock.calls.join(), complained: complained.mock.calls.join() }
}

describe('npm run soak', () => {
  test.each([
    ['--personas 2', '--personas: "2" is no whole number from 3 to 999'],
    ['--personas 1000', '--personas: "1000" is no whole number from 3 to 999'],
    ['--minutes 0', '--minutes: "0" is no number above 0 to 1440'],
    ['--minutes 1441', '--minutes: "1441" is no number above 0 to 1440'],
    ['--kills-per-minute=-1', '--kills-per-minute: "-1" is no number from 0 to 600'],
    ['--kills-per-minute 601', '--kills-per-minute: "601" is no number from 0 to 600'],
    ['--kills-per-minute many', '--kills-per-minute: "many" is no number from 0 to 600'],
    ['--kills-per-minute=', '"" is no number from 0 to 600'],
    ['--seed 1.5', '--seed: "1.5" is no whole number from 0'],
    ['--faults-per-minute 1', "Unknown option '--faults-per-minute'"],
    ['bad-days --faults-per-minute 601', '--faults-per-minute: "601" is no number from 0 to 600'],
    ['bad-days --personas 2', '--personas: "2" is no whole number from 3 to 999'],
    ['--dir package.json', `--dir: ${path.resolve('package.json')} is no directory`],
  ])('npm run soak rejects %s with 2 and the help', async (line, why) => {
    const { outcome, said, complained } = await told(line)
    expect([outcome, said]).toEqual(['Error: ends with 2', ''])
    expect(complained).toContain(why)
    expect(complained).toContain('usage:')
  })

  test.each(['0', '0.5', '600'])('npm run soak accepts %s kills per minute', async (kills) => {
    expect((await told(`--kills-per-minute ${kills}`)).outcome).toBe('Error: begins')
  })

  test('npm run soak starts a bad day', async () => {
    expect((await told('bad-days --faults-per-minute 3 --minutes 1')).outcome).toBe('Error: begins')
  })

  test('the help of npm run soak contains its limits', async () => {
    const { said } = await told('--help')
    for (const bounds of ['above 0 to 1440', '3 to 999', '0 to 600']) expect(said).toContain(bounds)
  })

  test('npm run soak exits with 2 if no signal was sent, unless a promise was broken', () => {
    const broken = [new Violation('x', 'y')]
    expect(exitCode(result({ receipts: 1 }))).toBe(0)
    expect(exitCode(result({ receipts: 0, wishes: 3 }))).toBe(2)
    expect(exitCode({ ...result({ receipts: 0 }), broken })).toBe(1)
    expect(exitCode({ ...result({ receipts: 1 }), broken })).toBe(1)
  })
})
