/** Tests plugins in the real hub: they are reachable in every way, and a broken one is disabled. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { hubHttp } from '../support/worlds/hub-http.ts'
import { BIN, end, startHub, temporaryHome, turnbell, type Running } from '../support/processes/processes.ts'

let hub: Running | null = null
afterEach(async () => {
  if (hub !== null) await end(hub, 'SIGTERM')
  hub = null
})

/** A plugin without dependencies. */
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

/** A plugin with its own installation of turnbell, so that its imports are another copy than the hub's. */
const COUNTER = `
import { definePlugin, defineStep, Refusal, z } from ${JSON.stringify(path.join(path.dirname(BIN), 'plugin.js'))}
export default definePlugin({
  name: 'counter',
  steps: [defineStep({
    name: 'count', summary: 'Counts.', mutates: true,
    input: z.strictObject({ to: z.number().default(3) }),
    run({ to }) {
      if (to === 0) throw new Refusal('target_unknown', { detail: 'There is nothing to count to.' })
      if (to === 1) throw new Error('it broke')
      return { result: { counted: to } }
    },
  })],
})
`

test('routines run the steps of a plugin, and a failing step does not stop the hub', async () => {
  const home = temporaryHome()
  fs.writeFileSync(path.join(home, 'counter.mjs'), COUNTER)
  fs.writeFileSync(path.join(home, 'again.mjs'), COUNTER)
  fs.writeFileSync(
    path.join(home, 'config.yaml'),
    'plugins: [./counter.mjs, ./again.mjs]\nroutines: {counting: {steps: [{step: count, with: {to: 4}}]}}\n',
  )
  hub = await startHub(home)
  const http = hubHttp(home)
  expect(await http.get('/api/plugins/list')).toMatchObject({
    plugins: [
      { name: 'counter', facades: [], kinds: [], steps: ['count'], problem: null },
      { name: 'counter', steps: [], problem: 'two types of steps are called count' },
    ],
  })
  expect(await http.post('/api/routine/run', { name: 'counting' })).toMatchObject({
    ok: true,
    steps: [{ step: 'count', status: 'ok', result: { counted: 4 } }],
  })
  const steps = [0, 1, 2].map((to) => ({ step: 'count', with: { to } }))
  expect(await http.post('/api/routine/eval', { steps })).toMatchObject({
    ok: false,
    steps: [
      { status: 'failed', problem: { code: 'target_unknown', detail: 'There is nothing to count to.' } },
      { status: 'failed', problem: { code: 'internal' } },
      { status: 'ok' },
    ],
  })
  expect(await http.post('/api/routine/eval', { steps, dry_run: true })).toMatchObject({
    ok: true,
    steps: [{ status: 'planned' }, { status: 'planned' }, { status: 'planned' }],
  })
})

test('a plugin is called like any facade, and a broken plugin does not prevent the start of the hub', async () => {
  const home = temporaryHome()
  fs.writeFileSync(path.join(home, 'greeter.mjs'), GREETER)
  fs.writeFileSync(path.join(home, 'broken.mjs'), "throw new Error('not today')\n")
  fs.writeFileSync(
    path.join(home, 'config.yaml'),
    'plugins: [./greeter.mjs, ./broken.mjs, not-installed]\nmcp: {expose: [core, greeter]}\n',
  )
  hub = await startHub(home)
  expect(hub.output()).toContain('plugin ./broken.mjs skipped (not today)')

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
      { plugin: 'not-installed', problem: expect.stringContaining('is not installed in') as string },
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

test('an uncaught error of a plugin ends the hub, whose last line names the plugins', async () => {
  const home = temporaryHome()
  const later =
    "process.once('SIGUSR2', () => { throw new Error('later') })\nexport default { name: 'later' }\n"
  fs.writeFileSync(path.join(home, 'later.mjs'), later)
  fs.writeFileSync(path.join(home, 'config.yaml'), 'plugins: [./later.mjs]\n')
  const running = await startHub(home)
  await end(running, 'SIGUSR2')
  expect(running.output()).toMatch(/uncaught exception; exiting.*\.\/later\.mjs/)
})
