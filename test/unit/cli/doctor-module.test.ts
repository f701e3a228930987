/** Tests that doctor and status report whether Claude Code is reached by the module in it, and why not. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Absence } from '../../../adapters/claude-code/mod-link/mod-link.ts'
import type { FindingDocument } from '../../../src/cli/doctor/finding.ts'
import type { DaemonStatus } from '../../../src/contracts/control.ts'
import { personaPaths, resolveHome } from '../../../src/system/config/home.ts'
import { daemonStatus, fakeDaemon } from '../../support/fakes/fake-daemon.ts'
import { testCli } from '../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

interface Options {
  /** Settings of the persona, after its surface. */
  settings?: string
  /** Further lines of the configuration. */
  config?: string
  attached?: boolean
  presence?: DaemonStatus['surface']['presence']
  version?: string
  prepare?: (home: string) => void
}

/** A home whose persona ada reports this way. */
async function homeOf(via: string | null, options: Options = {}) {
  const home = fs.realpathSync(temporaryDirectory())
  fs.chmodSync(home, 0o700)
  const { settings = '', config = '', attached = true } = options
  fs.writeFileSync(
    path.join(home, 'config.yaml'),
    `personas: {ada: {surface: claude-code${settings}}}\n${config}`,
  )
  write(home, 'bin/claude', '#!/bin/sh\n')
  fs.chmodSync(path.join(home, 'bin', 'claude'), 0o755)
  options.prepare?.(home)
  const surface: DaemonStatus['surface'] = {
    kind: 'claude-code',
    attached,
    session_id: 's1',
    turn: 'idle',
    last_proof: null,
    ...{ via, interrupted_age_s: null, presence: options.presence ?? null },
  }
  const paths = personaPaths(resolveHome({}, home), 'local', 'ada', {})
  await fakeDaemon(paths, () => daemonStatus('ada', { surface }))
  const stdout = `${options.version ?? '2.1.332'} (Claude Code)\n`
  const turnbell = testCli({
    home,
    env: { PATH: path.join(home, 'bin') },
    program: () => ({ code: 0, stdout, stderr: '' }),
  })
  return { home, turnbell }
}

/** Returns doctor's finding; paths begin with HOME. */
async function found(via: string | null, options: Options = {}) {
  const { home, turnbell } = await homeOf(via, options)
  await turnbell.run('doctor', '--json')
  const report = JSON.parse(turnbell.stdout().replaceAll(home, 'HOME')) as { findings: FindingDocument[] }
  const versions = turnbell.programs.filter(([, ...args]) => args[0] === '--version')
  expect(versions).toHaveLength(1)
  return report.findings.find(({ check }) => check === 'module ada')
}

function write(home: string, name: string, text: string): void {
  const file = path.join(home, name)
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  fs.writeFileSync(file, text)
}

const managed = (values: unknown) => (home: string) =>
  write(home, 'administrator/managed-settings.json', JSON.stringify(values))
const MANAGED_MODULES_ONLY = {
  pluginConfigs: { 'cc-plugin-sec-default@builtin': { options: { allowManagedModsOnly: true } } },
}

const RESTART = 'End the session and start it again: `turnbell run --persona ada`.'
const RESTART_STEP = RESTART.replace('End', 'end')

describe('doctor and the module in Claude Code', () => {
  test('doctor accepts a session that is reached by the module', async () => {
    expect(await found('module')).toEqual({
      ...{ check: 'module ada', state: 'ok', fixable: false, mend: null },
      detail: 'Claude Code is reached by the module in it',
    })
  })

  test('doctor accepts hooks for a session without a window', async () => {
    expect(await found('hooks: headless')).toMatchObject({ state: 'ok', mend: null })
  })

  test.each([
    ['a surface that reports no way', null, {}],
    ['a client that is not attached', 'hooks: never attached', { attached: false }],
  ] as const)('doctor reports nothing about %s', async (_, via, options) => {
    expect(await found(via, options)).toBeUndefined()
  })

  const EXPLAINED: Record<Exclude<Absence, 'headless'>, [detail: string, fix: string]> = {
    'never attached': ['the module has not attached yet', RESTART],
    silent: [
      'the module is silent; another plugin may block it',
      `type /reload-plugins in the session. If that has no effect, ${RESTART_STEP}`,
    ],
    ended: ['the module reported the end of its session', RESTART],
    'another protocol': [
      'the module and the shim of the client are of different versions of turnbell',
      `Type /reload-plugins in the session, or ${RESTART_STEP}`,
    ],
    configured: ['the configuration disabled the module when the session started', RESTART],
    'no socket': [
      'the shim of the client could not open a socket for the module',
      'Read HOME/logs/ada~claude-code.log.',
    ],
  }
  test.each(Object.entries(EXPLAINED))(
    'doctor explains that hooks are used: %s',
    async (reason, expected) => {
      const [detail, fix] = expected
      expect(await found(`hooks: ${reason}`)).toMatchObject({
        ...{ state: 'warning', detail: `Claude Code is reached by hooks: ${detail}` },
        mend: expect.stringContaining(fix) as string,
      })
    },
  )

  test('doctor prints a reason that it does not know', async () => {
    expect(await found('hooks: too many modules')).toMatchObject({
      ...{ state: 'warning', detail: 'Claude Code is reached by hooks: too many modules' },
      mend: 'Read HOME/logs/ada~claude-code.log.',
    })
  })

  test('doctor accepts hooks where the configuration switches the module off', async () => {
    expect(await found('hooks: configured', { config: 'claude_code: {module: false}\n' })).toMatchObject({
      state: 'ok',
      mend: null,
    })
  })

  test('doctor advises to restart the daemon of a headless session', async () => {
    const finding = await found('hooks: ended', { settings: ', headless: true, project: /' })
    expect(finding?.mend).toContain('`turnbell shutdown --persona ada`, then `turnbell daemon --persona ada`')
  })

  test('doctor names the project in which a connected client is started', async () => {
    const { home, turnbell } = await homeOf('hooks: ended')
    fs.mkdirSync(path.join(home, 'shop'))
    await turnbell.run('connect', 'claude-code', '--persona', 'ada', '--project', path.join(home, 'shop'))
    await turnbell.run('doctor', '--json')
    const finding = turnbell
      .json<{ findings: FindingDocument[] }>()
      .findings.find(({ check }) => check === 'module ada')
    expect(finding?.mend).toBe(
      `End the session and start it again: \`turnbell run --persona ada\`, or the client in ${home}/shop.`,
    )
  })
})

describe('doctor and a module that never attached', () => {
  const never = (options: Options) => found('hooks: never attached', options)

  test('doctor reports a client that is too old for modules', async () => {
    expect(await never({ version: '2.1.270' })).toMatchObject({
      state: 'warning',
      detail:
        'Claude Code is reached by hooks: the installed version 2.1.270 is older than 2.1.287, the first that loads modules',
      mend: expect.stringContaining('up to date') as string,
    })
  })

  test('doctor does not need the client on PATH', async () => {
    const { turnbell } = await homeOf('hooks: never attached', {
      prepare: (home) => fs.rmSync(path.join(home, 'bin', 'claude')),
    })
    await turnbell.run('doctor', '--json')
    expect(turnbell.json<{ findings: FindingDocument[] }>().findings).toContainEqual(
      expect.objectContaining({ check: 'module ada', state: 'warning', mend: RESTART }),
    )
  })

  test.each([
    ['allowManagedModsOnly', MANAGED_MODULES_ONLY, 'disables modules of plugins'],
    ['allowManagedHooksOnly', { allowManagedHooksOnly: true }, 'disables modules and hooks of plugins'],
    ['disableAllHooks', { disableAllHooks: true }, 'disables modules and hooks of plugins'],
  ])('doctor names the managed setting %s', async (key, values, effect) => {
    expect(await never({ prepare: managed(values), version: '2.1.270' })).toMatchObject({
      state: 'warning',
      detail: `Claude Code is reached by hooks: ${key} in HOME/administrator/managed-settings.json ${effect}`,
      mend: expect.stringMatching(/[Aa]sk the administrator .* HOME\/administrator/) as string,
    })
  })

  test('doctor names the part of the managed settings that decides', async () => {
    const part = 'administrator/managed-settings.d/20-modules.json'
    const only = await never({ prepare: (home) => write(home, part, JSON.stringify(MANAGED_MODULES_ONLY)) })
    expect(only?.detail).toContain(`HOME/${part}`)
    const allowed = JSON.stringify(MANAGED_MODULES_ONLY).replace('true', 'false')
    const both = (home: string) => {
      managed(MANAGED_MODULES_ONLY)(home)
      write(home, part, allowed)
    }
    expect((await never({ prepare: both }))?.detail).toContain('has not attached yet')
  })

  test.each([
    ['another managed setting', managed({ strictKnownMarketplaces: [] })],
    ['options of another shape', managed({ pluginConfigs: { 'cc-plugin-sec-default@builtin': [] } })],
    ['invalid managed settings', (home: string) => write(home, 'administrator/managed-settings.json', '{')],
    [
      'the option in settings of the user',
      (home: string) => write(home, 'user/.claude/settings.json', JSON.stringify(MANAGED_MODULES_ONLY)),
    ],
  ])('doctor does not take %s as the reason', async (_, prepare) => {
    expect((await never({ prepare }))?.detail).toContain('has not attached yet')
  })

  test.each([
    ['user/.claude/settings.json', {}],
    ['shop/.claude/settings.local.json', { settings: ', project: shop' }],
  ])('doctor names disableAllHooks in %s', async (name, options) => {
    const finding = await never({
      ...options,
      prepare: (home) => write(home, name, '{"disableAllHooks": true}'),
    })
    expect(finding).toMatchObject({
      ...{ state: 'warning', mend: `Remove disableAllHooks from HOME/${name}.` },
      detail: expect.stringContaining(`disableAllHooks in HOME/${name}`) as string,
    })
  })
})

describe('status and the module in Claude Code', () => {
  test.each(['module', 'hooks: silent', null])('status --json contains the way %j', async (via) => {
    const { turnbell } = await homeOf(via)
    await turnbell.run('status', '--json')
    expect(turnbell.json<unknown>()).toMatchObject([{ identity: 'ada', status: { surface: { via } } }])
  })

  test('status of one persona shows what the module reports besides the turn', async () => {
    const presence = {
      ...{ waiting: [], agents: [], tokens: 5, window: 10, cost_usd: null },
      ...{ compacting_since: null, last_compaction: null },
    }
    const { turnbell } = await homeOf('module', { presence })
    await turnbell.run('status', '--persona', 'ada')
    expect(turnbell.stdout()).toMatch(/^ *context +5 of 10 tokens$/m)
  })

  test.each([
    ['module', true, 'claude-code'],
    [null, true, 'claude-code'],
    ['hooks: silent', true, 'claude-code (hooks)'],
    [null, false, 'claude-code (absent)'],
  ])('the table of status shows the way %j, attached %j, as %s', async (via, attached, words) => {
    const { turnbell } = await homeOf(via, { attached })
    await turnbell.run('status')
    expect(turnbell.stdout().split('\n').at(-2)?.split(/ {2,}/)).toContain(words)
  })
})
