/** Whom a client's session acts for: what started it wins over what its project is connected to. */
import { expect, test } from 'vitest'
import { sessionPlace } from '../../../src/system/session-place.ts'

const CONNECTED = { TURNBELL_CONNECTED_PERSONA: 'ada', TURNBELL_CONNECTED_HOME: '/connected' }
const STARTED = { TURNBELL_PERSONA: 'bob', TURNBELL_HOME: '/started' }

const cases: [string, NodeJS.ProcessEnv, ReturnType<typeof sessionPlace>][] = [
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
  expect(sessionPlace(env)).toEqual(place)
})

test('what is said outright wins over both', () => {
  expect(sessionPlace(CONNECTED, { home: '/said' })).toEqual({ persona: 'ada', home: '/said' })
  expect(sessionPlace(CONNECTED, { persona: 'eve' })).toEqual({ persona: 'eve', home: undefined })
})
