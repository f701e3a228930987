import { expect, test } from 'vitest'
import { hubEnvironment } from '../../../../src/system/process/background.ts'

test("a hub that a client starts does not inherit the client's visibility setting", () => {
  const env = { PATH: '/bin', TURNBELL_TOOLS: 'core,trace', TURNBELL_HOME: '/home/turnbell' }
  expect(hubEnvironment(env)).toEqual({ PATH: '/bin', TURNBELL_HOME: '/home/turnbell' })
})
