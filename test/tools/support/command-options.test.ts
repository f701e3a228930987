import { execFile } from 'node:child_process'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { needDirectory, number } from '../../support/command/command-options.mjs'

describe('option values', () => {
  test.each(['', ' ', '-1', '1.5', 'many', 'Infinity'])('%j is not a whole number from 0', (text) => {
    expect(() => number('seed', text, 0)).toThrow(`--seed: ${JSON.stringify(text)} is no whole number from 0`)
  })

  test('a number has a minimum', () => {
    expect(number('steps', '1', 1)).toBe(1)
    expect(() => number('steps', '0', 1)).toThrow('--steps: "0" is no whole number from 1')
  })

  test('a number has a maximum', () => {
    expect(number('jobs', '256', { least: 1, most: 256 })).toBe(256)
    expect(() => number('jobs', '257', { least: 1, most: 256 })).toThrow(
      '--jobs: "257" is no whole number from 1 to 256',
    )
  })

  test.each(['', '0', '-1', '25', 'NaN', 'Infinity'])('%j is not a valid share of a day', (text) => {
    expect(number('hours', '0.5', { above: 0, most: 24 })).toBe(0.5)
    expect(() => number('hours', text, { above: 0, most: 24 })).toThrow(
      `--hours: ${JSON.stringify(text)} is no number above 0 to 24`,
    )
  })

  test('a share may be zero', () => {
    expect(number('kills', '0', { from: 0, most: 600 })).toBe(0)
    expect(() => number('kills', '-1', { from: 0, most: 600 })).toThrow('"-1" is no number from 0 to 600')
  })

  test('a directory has to exist', () => {
    needDirectory('dir', 'test')
    for (const other of ['/nonexistent', 'package.json']) {
      expect(() => needDirectory('dir', other)).toThrow(`--dir: ${other} is no directory`)
    }
  })
})

describe('a command', () => {
  const OPTIONS = path.resolve('test/support/command/command-options.mjs')
  const SCRIPT = `
    import { commandOptions } from ${JSON.stringify(OPTIONS)}
    const { values } = commandOptions('the help\\n', {
      options: { seed: { type: 'string', default: '1' }, keep: { type: 'string' }, trace: { type: 'boolean' } },
      numbers: { seed: 0 },
      places: { script: 'kept', names: ['keep'] },
      argv: process.argv.slice(1),
      check({ keep, trace }) {
        if (trace && keep !== undefined) throw new Error('--trace goes with no --keep')
      },
    })
    process.stdout.write(JSON.stringify(values))`
  const told = (...args: string[]) => toldIn({}, ...args)
  const toldIn = (npm: NodeJS.ProcessEnv, ...args: string[]) =>
    new Promise<{ code: unknown; said: string; complained: string }>((resolve) => {
      execFile(
        process.execPath,
        ['--input-type=module', '--eval', SCRIPT, '--', ...args],
        { env: { ...process.env, ...npm } },
        (error, said, complained) => resolve({ code: error?.code ?? 0, said, complained }),
      )
    })

  test('a command receives its values, with numbers for numeric options', async () => {
    const { code, said } = await told('--keep', 'file')
    expect([code, JSON.parse(said)]).toEqual([0, { help: false, seed: 1, keep: path.resolve('file') }])
  })

  test('a command resolves a path from the directory in which npm was called', async () => {
    const keepOf = async (npm_lifecycle_event: string, keep: string) => {
      const { said } = await toldIn({ npm_lifecycle_event, INIT_CWD: '/elsewhere' }, '--keep', keep)
      return (JSON.parse(said) as { keep: string }).keep
    }
    expect(
      await Promise.all([keepOf('kept', 'file'), keepOf('kept', '/file'), keepOf('test', 'file')]),
    ).toEqual(['/elsewhere/file', '/file', path.resolve('file')])
  })

  test('a command prints its help, whatever the other arguments are', async () => {
    expect(await told('--help', '--seed', 'x')).toEqual({ code: 0, said: 'the help\n', complained: '' })
  })

  test.each([
    [['--keep', ''], '--keep: is empty'],
    [['--seed', ''], '--seed: "" is no whole number from 0'],
    [['--seed', '1', '--seed', '2'], '--seed: is said twice'],
    [['--keep', 'file', '--trace'], '--trace goes with no --keep'],
    [['--what'], "Unknown option '--what'"],
    [['what'], "Unexpected argument 'what'"],
  ])('a command rejects %j with 2, the reason and its help', async (args, reason) => {
    const { code, said, complained } = await told(...args)
    expect([code, said]).toEqual([2, ''])
    expect(complained).toContain(reason)
    expect(complained).toContain('the help')
  })
})
