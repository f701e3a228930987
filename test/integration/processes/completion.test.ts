/** Completion scripts in real shells: bash always, zsh and fish if they are installed. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { createProgram } from '../../../src/cli/program.ts'
import { completionPlaces } from '../../../src/cli/commands/completion.ts'
import { completionScript, SHELLS, type Shell } from '../../../src/cli/completion-scripts.ts'
import { testCli } from '../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const isInstalled = (shell: Shell) => spawnSync(shell, ['-c', 'true']).status === 0

function shellRun(shell: Shell, after: (file: string) => string, args: readonly string[] = []) {
  const directory = temporaryDirectory()
  const file = path.join(directory, 'completion')
  const places = completionPlaces(createProgram(testCli({ home: directory }).cli))
  fs.writeFileSync(file, completionScript(shell, places))
  fs.writeFileSync(path.join(directory, 'a-file'), '')
  const env = { PATH: process.env['PATH'], HOME: directory, LC_ALL: 'C' }
  const how = { encoding: 'utf8', cwd: directory, env } as const
  const plain = { bash: ['--norc', '--noprofile'], zsh: ['-f'], fish: ['--no-config'] }[shell]
  const { stdout, stderr } = spawnSync(shell, [...plain, ...args, '-c', after(file)], how)
  expect(stderr).toBe('')
  return stdout.split('\n').filter((line) => line !== '')
}

/** Completions of a line whose last word is incomplete. */
const COMPLETE: Record<Shell, (line: string[]) => string[]> = {
  bash: (line) =>
    shellRun('bash', (file) => {
      const words = ['turnbell', ...line].map((word) => `'${word}'`).join(' ')
      return `source ${file}; COMP_WORDS=(${words}); COMP_CWORD=${line.length}; _turnbell
        printf '%s\\n' "\${COMPREPLY[@]}"; complete -p turnbell >/dev/null`
    }),
  // Its completion needs a terminal, so its input is printed and filtered here.
  zsh: (line) =>
    shellRun('zsh', (file) => {
      const words = ['turnbell', ...line].map((word) => `'${word}'`).join(' ')
      return `compdef() {}; compadd() { shift; print -l -- "$@" }; _files() { print -l -- * }
        source ${file}; words=(${words}); CURRENT=${line.length + 1}; _turnbell`
    }).filter((word) => word.startsWith(line.at(-1) ?? '')),
  fish: (line) =>
    shellRun('fish', (file) => `source ${file}; complete -C '${['turnbell', ...line].join(' ')}'`).map(
      (told) => told.split('\t')[0] ?? '',
    ),
}

describe.each(SHELLS.filter(isInstalled))('%s completes', (shell) => {
  const complete = (...line: string[]) => COMPLETE[shell](line).sort()

  test.each([
    ['a command', ['stat'], ['status']],
    ['every command that begins so', ['pe'], ['pending', 'persona']],
    ['a command of a command', ['persona', 'a'], ['add']],
    ['behind global options and their values', ['--home', 'persona', '--json', 'tok'], ['token']],
    ['an option', ['send', '--to', 'ada', '--prio'], ['--priority']],
    ['a global option, anywhere', ['persona', 'list', '--ho'], ['--home']],
    ['what a value may be', ['token', 'create', '--kind', 'd'], ['daemon']],
    ['what an argument may be', ['completion', 'z'], ['zsh']],
    ['nothing that there is not', ['persona', 'zzz'], []],
    ['no option of ours behind --', ['run', '--', '--ho'], []],
  ])('%s', (_, line, words) => {
    expect(complete(...line)).toEqual(words)
  })

  test('the value of an option for files is completed with file names', () => {
    // bash completes file names by itself if nothing is offered.
    expect(complete('send', '--payload', 'a-')).toEqual(shell === 'bash' ? [] : ['a-file'])
  })
})

test('bash completes a value after =', () => {
  expect(COMPLETE.bash(['token', 'create', '--kind', '=', 'o'])).toEqual(['observer'])
  expect(COMPLETE.bash(['token', 'create', '--kind', '=']).sort()).toEqual(['agent', 'daemon', 'observer'])
})

describe('turnbell completion', () => {
  test.each(SHELLS)('prints the script for %s, also as JSON', async (shell) => {
    const turnbell = testCli({ home: temporaryDirectory() })
    expect(await turnbell.run('completion', shell)).toBe(0)
    const printed = turnbell.stdout()
    expect(printed).toContain(`turnbell completion ${shell}`)
    expect(await turnbell.run('completion', shell, '--json')).toBe(0)
    expect(turnbell.json<object>()).toEqual({
      shell,
      script: expect.stringContaining('persona add') as string,
    })
  })

  test.each([[['completion']], [['completion', 'tcsh']]])('is refused as usage: %j', async (line) => {
    const turnbell = testCli({ home: temporaryDirectory() })
    expect(await turnbell.run(...line)).toBe(64)
    expect(turnbell.stdout()).toBe('')
  })

  test('the script contains every command, and no characters that a shell would interpret', () => {
    const places = completionPlaces(createProgram(testCli({ home: temporaryDirectory() }).cli))
    expect(places.map((place) => place.path)).toEqual(
      expect.arrayContaining(['', 'up', 'persona add', 'token create']),
    )
    for (const { words, values } of places) {
      for (const word of [...words, ...Object.keys(values), ...Object.values(values).flat()]) {
        expect(word).toMatch(/^[A-Za-z0-9_.-]+$/)
      }
    }
  })
})
