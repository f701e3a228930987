/** Fuzzes the screen contents that tmux returns, and the output of ps for its terminal. */
import { clientInForeground, parseProcesses } from '../../../adapters/tmux/foreground.ts'
import { readScreen, showsBell, type Capture, type TmuxClient } from '../../../adapters/tmux/screen.ts'
import { parseJsonOrNull } from '../../../src/contracts/validation/json.ts'
import { drawnScreen, screenNames } from '../../support/clients/tmux-screens.ts'
import { insist, type Target } from '../target.ts'

const CLIENTS: readonly TmuxClient[] = ['claude-code', 'codex', 'opencode']
const STATES = ['empty', 'draft', 'busy', 'dialog', 'unknown']
const NO_CURSOR = { cursor_x: 0, cursor_y: 0, cursor_visible: true, in_mode: false }

export const screens: Target = {
  name: 'screens',
  promise: 'any screen is read as one of five states, and a draft only where there is a composer',
  share: 2,
  words: [
    '\u001b[7m',
    '\u001b[0m',
    '\u001b[38;5;246m',
    '\u001b[2m',
    '❯',
    '› ',
    '│',
    '─',
    '╭',
    '╰',
    'esc to interrupt',
  ],

  open() {
    return {
      seeds: [
        ...CLIENTS.flatMap((client) =>
          screenNames(client).map((name) => {
            const { lines, ...cursor } = drawnScreen(client, name)
            return [JSON.stringify(cursor), ...lines].join('\n')
          }),
        ),
        '{"cursor_x":0,"cursor_y":0}\n  1  1  1 node /usr/bin/claude\n 22 22 -1 -zsh\n',
      ],
      attempt(input) {
        const [head, ...lines] = input.toString().split('\n')
        const capture: Capture = { ...NO_CURSOR, ...numbersIn(head), lines }
        const told = CLIENTS.map((client) => {
          const reading = readScreen(client, capture)
          insist(STATES.includes(reading.state), () => `state ${reading.state}`)
          insist(reading.state !== 'draft' || reading.draft !== null, () => 'a draft that is none')
          insist(!/\s/u.test(reading.transcript), () => 'white space in what is compared')
          return `${reading.state} ${showsBell(reading, '(bell 1)')}`
        })
        const processes = parseProcesses(lines.join('\n'))
        insist(
          processes.every(({ pid }) => Number.isInteger(pid)),
          () => 'a process without a number',
        )
        return [
          ...told,
          clientInForeground(processes, 'codex'),
          clientInForeground(processes, undefined),
        ].join(' ')
      },
    }
  },
}

function numbersIn(head: string | undefined): Partial<Capture> {
  const said = parseJsonOrNull(head)
  if (typeof said !== 'object' || said === null) return {}
  const told = Object.entries(said).filter(
    ([name, value]) => typeof value === typeof Reflect.get(NO_CURSOR, name),
  )
  return Object.fromEntries(told)
}
