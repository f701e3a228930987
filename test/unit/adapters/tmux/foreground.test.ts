/** The client of a terminal, from the output of `ps`. */
import { describe, expect, test } from 'vitest'
import { clientInForeground, parseProcesses } from '../../../../adapters/tmux/foreground.ts'

/** pid, pgid, tpgid, args: the shell below, the program in front. */
const terminal = (...front: string[]) =>
  parseProcesses(
    ['  100   100   200 -bash', ...front.map((args, at) => ` ${200 + at}   200   200 ${args}`)].join('\n'),
  )

describe('the client in the foreground', () => {
  test.each([
    ['claude-code', ['claude --resume']],
    ['claude-code', ['/home/ada/.local/bin/claude']],
    [
      'claude-code',
      ['node --max-old-space-size=8192 /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js'],
    ],
    ['codex', ['node /usr/bin/codex', '/usr/lib/node_modules/@openai/codex-linux-x64/vendor/x/bin/codex']],
    ['codex', ['/opt/codex --remote unix:///run/x.sock']],
    ['opencode', ['node /usr/bin/opencode', '/usr/lib/node_modules/opencode-linux-x64/bin/opencode']],
    ['claude-code', ['/usr/bin/node /usr/bin/turnbell run --persona ada', '/usr/bin/claude --name ada']],
  ])('the client is %s for %j', (client, front) => {
    expect(clientInForeground(terminal(...front), undefined)).toBe(client)
  })

  test.each([
    [['vim claude']],
    [['vim /tmp/codex']],
    [['node server.js']],
    [['node repl.js codex']],
    [['less /usr/bin/opencode']],
    [['ssh build claude']],
    [['claudette']],
  ])('no client is detected for %j', (front) => {
    expect(clientInForeground(terminal(...front), undefined)).toBeNull()
  })

  // Ctrl-Z: the client waits in the background, and the shell would run what is typed.
  test('a suspended client behind a shell is not detected', () => {
    const stopped = parseProcesses(' 100 100 100 -bash\n 200 200 100 claude')
    expect(clientInForeground(stopped, undefined)).toBeNull()
    expect(clientInForeground(stopped, 'claude-code')).toBeNull()
  })

  test('a configured client is accepted for an unknown program', () => {
    expect(clientInForeground(terminal('/opt/our-own-codex'), 'codex')).toBe('codex')
    expect(clientInForeground(terminal('claude'), 'codex')).toBeNull()
    expect(clientInForeground(terminal('/bin/zsh'), 'codex')).toBeNull()
    expect(clientInForeground([], 'codex')).toBeNull()
  })

  test('invalid lines of ps are ignored', () => {
    expect(parseProcesses('error: TTY could not be found\n\n')).toEqual([])
  })
})
