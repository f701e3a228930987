/** Plugins in the real hub: what somebody else wrote is there on every way in, and what breaks is left out. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { hubHttp } from '../support/hub-http.ts'
import { end, startHub, temporaryHome, turnbell, type Running } from '../support/processes.ts'

let hub: Running | null = null
afterEach(async () => {
  if (hub !== null) await end(hub, 'SIGTERM')
  hub = null
})

/** As somebody writes one who has nothing installed. */
const GREETER = `
export default ({ z, defineAction, Refusal }) => ({
  name: 'greeter',
  facades: [{
    name: 'greeting', summary: 'Greets.', compact: 'Greets.',
    actions: {
      greet: defineAction({
        summary: 'Greet somebody: {name}.', mutates: false, errors: ['target_unknown'], allow: ['agent'],
        input: z.strictObject({ name: z.string().min(2) }),
        output: z.object({ said: z.string() }),
        handle({ name }) {
          if (name === 'nobody') throw new Refusal('target_unknown', { detail: 'Nobody is there.' })
          return { said: 'hello ' + name }
        },
      }),
    },
  }],
})
`

test('a plugin is called like everything else, and a broken one does not keep the hub down', async () => {
  const home = temporaryHome()
  fs.writeFileSync(path.join(home, 'greeter.mjs'), GREETER)
  fs.writeFileSync(path.join(home, 'broken.mjs'), "throw new Error('not today')\n")
  fs.writeFileSync(
    path.join(home, 'config.yaml'),
    'plugins: [./greeter.mjs, ./broken.mjs, not-installed]\nmcp: {expose: [core, greeter]}\n',
  )
  hub = await startHub(home)
  expect(hub.output()).toContain('the plugin ./broken.mjs was left out (not today)')

  const http = hubHttp(home)
  expect(await http.post('/api/greeting/greet', { name: 'bob' })).toEqual({ said: 'hello bob' })
  expect(await http.post('/call', { tool: 'greeting', action: 'greet', params: { name: 'bob' } })).toEqual({
    result: { said: 'hello bob' },
  })
  const listed = await turnbell(['call', 'plugins', 'list', '--home', home, '--json'])
  expect(JSON.parse(listed.stdout)).toMatchObject({
    plugins: [
      { plugin: './greeter.mjs', name: 'greeter', facades: ['greeting'], problem: null },
      { plugin: './broken.mjs', name: null, problem: 'not today' },
      { plugin: 'not-installed', problem: expect.stringContaining('installed neither in') as string },
    ],
  })
  const refused = await turnbell([
    'call',
    'greeting',
    'greet',
    '--params',
    '{"name":"x"}',
    '--home',
    home,
    '--json',
  ])
  expect(refused.code).toBe(2)
  expect(JSON.parse(refused.stdout)).toMatchObject({
    code: 'params_invalid',
    detail: expect.stringContaining('name') as string,
  })
})
