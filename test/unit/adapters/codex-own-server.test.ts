import { expect, test } from 'vitest'
import { appServerArguments, appServerEnvironment } from '../../../adapters/codex/own-server.ts'
import { OWN_SERVER_PERSONA } from '../../../src/contracts/codex-environment.ts'

const settings = { identity: 'ada', home: '/h', node: '/node', bin: '/turnbell.js', autostart: true }

test('its hooks hear whose it is, whoever started the daemon', () => {
  const outer = { PATH: '/bin', TURNBELL_PERSONA: 'bob', [OWN_SERVER_PERSONA]: 'bob' }
  expect(appServerEnvironment(outer, settings)).toEqual({
    PATH: '/bin',
    TURNBELL_HOME: '/h',
    TURNBELL_PERSONA: 'ada',
    [OWN_SERVER_PERSONA]: 'ada',
  })
})

test('what an agent runs there does not, nor another Codex that it starts', () => {
  expect(appServerArguments('/run/codex.sock', settings)).toContain(
    `shell_environment_policy.set.${OWN_SERVER_PERSONA}=""`,
  )
})
