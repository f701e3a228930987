/** Persona of a client's session: the starting process takes precedence over the connected project. */
import { expect, test } from 'vitest'
import { sessionPersona } from '../../../../src/contracts/clients/session-persona.ts'

const CONNECTED = { TURNBELL_CONNECTED_PERSONA: 'ada', TURNBELL_CONNECTED_HOME: '/connected' }
const STARTED = { TURNBELL_PERSONA: 'bob', TURNBELL_HOME: '/started' }

const cases: [string, NodeJS.ProcessEnv, ReturnType<typeof sessionPersona>][] = [
  ['nobody', {}, { persona: undefined, home: undefined }],
  ['the connected persona, in its own home', CONNECTED, { persona: 'ada', home: '/connected' }],
  [
    'the connected persona, wherever else the home usually is',
    { ...CONNECTED, TURNBELL_HOME: '/usual' },
    { persona: 'ada', home: '/connected' },
  ],
  [
    'the persona it was started for, in the usual home',
    { ...CONNECTED, ...STARTED },
    { persona: 'bob', home: undefined },
  ],
  [
    'the connected persona where the other is empty',
    { ...CONNECTED, TURNBELL_PERSONA: '' },
    { persona: 'ada', home: '/connected' },
  ],
  [
    'the connected persona, in the usual home where none is named',
    { TURNBELL_CONNECTED_PERSONA: 'ada', TURNBELL_CONNECTED_HOME: '' },
    { persona: 'ada', home: undefined },
  ],
]

test.each(cases)('a session acts for %s', (_, env, place) => {
  expect(sessionPersona(env)).toEqual(place)
})

test('a flag takes precedence over both', () => {
  expect(sessionPersona(CONNECTED, { home: '/said' })).toEqual({ persona: 'ada', home: '/said' })
  expect(sessionPersona(CONNECTED, { persona: 'eve' })).toEqual({ persona: 'eve', home: undefined })
})
