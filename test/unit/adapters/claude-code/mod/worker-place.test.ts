import path from 'node:path'
import { expect, test } from 'vitest'
import { pointerFile, socketIn } from '../../../../../adapters/claude-code/mod/worker-place.ts'
import { sessionPersona } from '../../../../../src/contracts/clients/session-persona.ts'

const VALUES = { PERSONA: 'ada', HOME: '/h', CONNECTED_PERSONA: 'bob', CONNECTED_HOME: '/c' }
const NAMES = Object.keys(VALUES) as (keyof typeof VALUES)[]
/** Every combination of set, empty and missing variables. */
const ENVIRONMENTS = NAMES.reduce<Record<string, string>[]>(
  (all, name) =>
    all.flatMap((env) => [
      env,
      ...['', VALUES[name]].map((value) => ({ ...env, [`TURNBELL_${name}`]: value })),
    ]),
  [{ HOME: '/user' }],
)

test('the home is that of the persona of the session', () => {
  for (const env of ENVIRONMENTS) {
    const { persona, home = env['TURNBELL_HOME'] || '/user/.turnbell' } = sessionPersona(env)
    const expected = persona === undefined ? null : path.join(home, 'run/claude-7.mod')
    expect({ env, file: pointerFile(env, '7') }).toEqual({ env, file: expected })
  }
})

test('there is no pointer without the process id of the client', () => {
  expect(pointerFile({ TURNBELL_PERSONA: 'ada' }, undefined)).toBeNull()
})

test.each([
  ['/run/a b.sock\n', '/run/a b.sock'],
  ['/run/a.sock', null],
  ['', null],
  ['a.sock\n', null],
  ['/a\n/b\n', null],
])('the pointer %j has the socket %j', (content, socket) => {
  expect(socketIn(content)).toBe(socket)
})
