import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/system/clock.ts'
import { personaPaths, resolveHome, type PersonaPaths } from '../../../src/system/config/home.ts'
import { runningHub } from '../../../src/system/config/hub-discovery.ts'
import { argument } from '../../../src/cli/service/windows.ts'
import { word } from '../../../src/cli/service/systemd.ts'
import type { Problem } from '../../../src/contracts/errors/errors.ts'
import { daemonStatus, fakeDaemon } from '../../support/fakes/fake-daemon.ts'
import { TEMPLATES, testCli } from '../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

type Options = Partial<Parameters<typeof testCli>[0]>
const on = (platform: NodeJS.Platform, options: Options = {}) => {
  const home = options.home ?? temporaryDirectory()
  const turnbell = testCli({ home, platform, ...options })
  return { home, user: path.join(home, 'user'), turnbell }
}
const printed = async (platform: NodeJS.Platform, which: string[], env: Record<string, string> = {}) => {
  const { turnbell, home } = on(platform, { env })
  expect(await turnbell.run('service', 'install', ...which, '--print')).toBe(0)
  expect(turnbell.programs).toEqual([])
  return { text: turnbell.stdout(), home, stderr: turnbell.stderr() }
}

describe('templates', () => {
  test.each(['linux', 'darwin', 'win32'] as const)(
    'the templates of %s are filled in completely',
    async (platform) => {
      for (const which of [['--hub'], ['--persona', 'ada']]) {
        const { text, home, stderr } = await printed(platform, which)
        expect(text).not.toMatch(/\{\{|\}\}/)
        expect(text).toContain('/usr/bin/node')
        expect(text).toContain('/opt/turnbell/dist/turnbell.js')
        expect(text).toContain(home)
        expect(stderr).toBe('')
      }
    },
  )

  test('a systemd unit restarts after a crash, and not after a clean stop, 75 or 78', async () => {
    for (const which of [['--hub'], ['--persona', 'ada']]) {
      const { text } = await printed('linux', which)
      expect(text).toMatch(/^Restart=on-failure$/m)
      expect(text).toMatch(/^RestartPreventExitStatus=75 78$/m)
      expect(text).toMatch(/^StartLimitIntervalSec=0$/m)
      expect(text).toMatch(/^WantedBy=default\.target$/m)
    }
  })

  test('a systemd unit starts exactly one persona', async () => {
    const { text, home } = await printed('linux', ['--persona', 'ada'])
    expect(text.match(/^Exec.*$/gm)).toEqual([
      `ExecStart=/usr/bin/node /opt/turnbell/dist/turnbell.js daemon --persona %i --home ${home}`,
    ])
  })

  describe('the command of a service', () => {
    const CELLAR = '/opt/homebrew/Cellar/node/20.1.0/bin'

    test.each(['linux', 'darwin'] as const)('a service on %s starts node by its name', async (platform) => {
      const { turnbell, home } = on(platform, { overrides: { node: 'node' } })
      await turnbell.run('service', 'install', '--hub', '--print')
      const text = turnbell
        .stdout()
        .replace(/<\/?string>|\s+/g, ' ')
        .replace(/ +/g, ' ')
      expect(text).toContain(`/usr/bin/env node /opt/turnbell/dist/turnbell.js hub --home ${home}`)
    })

    test.each(['linux', 'darwin'] as const)(
      'a service on %s starts the command on PATH if turnbell is in a versioned folder',
      async (platform) => {
        const home = temporaryDirectory()
        const program = path.join(home, 'versions', 'v20.1.0', 'lib', 'turnbell.cjs')
        const bin = path.join(home, 'bin')
        fs.mkdirSync(path.dirname(program), { recursive: true })
        fs.mkdirSync(bin)
        fs.writeFileSync(program, '', { mode: 0o755 })
        fs.symlinkSync(program, path.join(bin, 'turnbell'))
        const { turnbell } = on(platform, { home, env: { PATH: bin }, overrides: { node: 'node', program } })
        await turnbell.run('service', 'install', '--hub', '--print')
        expect(turnbell.stdout()).toContain(path.join(bin, 'turnbell'))
        expect(turnbell.stdout()).not.toMatch(/20\.1\.0/)
      },
    )

    test('the PATH of a unit has no folder of node if node is a name', async () => {
      const { turnbell } = on('linux', { env: { PATH: CELLAR }, overrides: { node: 'node' } })
      await turnbell.run('service', 'install', '--hub', '--print')
      expect(turnbell.stdout()).toMatch(`Environment="PATH=${CELLAR}:/usr/bin:/bin"`)
    })
  })

  test('a LaunchAgent starts at login and restarts unless it exited cleanly', async () => {
    for (const which of [['--hub'], ['--persona', 'ada']]) {
      const { text } = await printed('darwin', which)
      const flat = text.replace(/\s+/g, '')
      expect(flat).toContain('<key>RunAtLoad</key><true/>')
      expect(flat).toContain('<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>')
      expect(flat).toContain('<key>TURNBELL_FINAL_EXITS</key><string>7578</string>')
    }
  })

  describe('the PATH of a service', () => {
    const installer =
      'node_modules/.bin:/home/a b/.nvm/bin:/opt/50%:/opt/$x:/opt/a&b:/q"r\\s:/bin\nExecStart=/x:/opt/50%:'

    test('a systemd unit has the PATH of the installing shell', async () => {
      for (const which of [['--hub'], ['--persona', 'ada']]) {
        const { text } = await printed('linux', which, { PATH: installer })
        expect(text.match(/^Environment=.*$/gm)).toEqual([
          'Environment="PATH=/home/a b/.nvm/bin:/opt/50%%:/opt/$x:/opt/a&b:/q\\"r\\\\s:/usr/bin:/bin"',
        ])
        expect(text.match(/^ExecStart=/gm)).toHaveLength(1)
      }
    })

    test('a LaunchAgent has the PATH of the installing shell', async () => {
      for (const which of [['--hub'], ['--persona', 'ada']]) {
        const { text } = await printed('darwin', which, { PATH: installer })
        expect(text.replace(/\n\s*/g, '')).toContain(
          '<key>PATH</key><string>/home/a b/.nvm/bin:/opt/50%:/opt/$x:/opt/a&amp;b:/q&quot;r\\s:/usr/bin:/bin</string>',
        )
      }
    })
  })

  test('a Windows task starts at logon and restarts after a failure without a time limit', async () => {
    const { text } = await printed('win32', ['--persona', 'ada'])
    expect(text).toMatch(/<LogonTrigger>[^]*<RestartOnFailure>/)
    expect(text).toContain('<ExecutionTimeLimit>PT0S</ExecutionTimeLimit>')
    expect(text).toContain('daemon --persona ada --home')
  })

  test('each template is used by one service', () => {
    expect(
      fs
        .readdirSync(TEMPLATES)
        .filter((name) => /turnbell/.test(name))
        .sort(),
    ).toEqual([
      'com.turnbell.daemon.plist',
      'com.turnbell.hub.plist',
      'turnbell-daemon.xml',
      'turnbell-daemon@.service',
      'turnbell-hub.service',
      'turnbell-hub.xml',
    ])
  })
})

describe('words with special characters', () => {
  test.each([
    ['/usr/bin/node', '/usr/bin/node'],
    ['/my home', '"/my home"'],
    ['/50%', '/50%%'],
    ['/a$b', '/a$$b'],
    ['/a"b\\c', '"/a\\"b\\\\c"'],
  ])('a word is escaped for an ExecStart line: %s', (text, line) => expect(word(text)).toBe(line))

  test.each([
    ['C:\\turnbell', 'C:\\turnbell'],
    ['C:\\Program Files\\x', '"C:\\Program Files\\x"'],
    ['C:\\my dir\\', '"C:\\my dir\\\\"'],
    ['a"b', '"a\\"b"'],
    ['a\\"b', '"a\\\\\\"b"'],
  ])('a word is escaped for Windows arguments: %s', (text, line) => expect(argument(text)).toBe(line))

  test('a word is escaped for XML', async () => {
    const home = path.join(temporaryDirectory(), 'a & b <c>')
    const turnbell = testCli({ home, platform: 'darwin' })
    await turnbell.run('service', 'install', '--hub', '--print')
    expect(turnbell.stdout()).toContain('a &amp; b &lt;c&gt;</string>')
  })
})

describe('install', () => {
  test('service install on Linux writes the printed unit, links it and calls systemctl', async () => {
    const { user, turnbell } = on('linux')
    await turnbell.run('service', 'install', '--persona', 'ada', '--print')
    const shown = turnbell.stdout()
    expect(await turnbell.run('service', 'install', '--persona', 'ada')).toBe(0)
    const units = path.join(user, '.config/systemd/user')
    expect(fs.readFileSync(path.join(units, 'turnbell-daemon@.service'), 'utf8')).toBe(shown)
    expect(fs.realpathSync(path.join(units, 'default.target.wants/turnbell-daemon@ada.service'))).toBe(
      fs.realpathSync(path.join(units, 'turnbell-daemon@.service')),
    )
    expect(turnbell.programs).toEqual([
      ['systemctl', '--user', 'daemon-reload'],
      ['systemctl', '--user', 'try-restart', 'turnbell-daemon@ada.service'],
      ['systemctl', '--user', 'enable', '--now', 'turnbell-daemon@ada.service'],
    ])
    expect(turnbell.stderr()).toContain('turnbell persona add ada')
  })

  test('service install of two personas enables two units', async () => {
    const { user, turnbell } = on('linux')
    for (const name of ['ada', 'bob']) await turnbell.run('service', 'install', '--persona', name)
    expect(fs.readdirSync(path.join(user, '.config/systemd/user/default.target.wants')).sort()).toEqual([
      'turnbell-daemon@ada.service',
      'turnbell-daemon@bob.service',
    ])
  })

  test('service install on macOS writes and bootstraps the property list', async () => {
    const { user, turnbell } = on('darwin')
    expect(await turnbell.run('service', 'install', '--persona', 'ada')).toBe(0)
    const file = path.join(user, 'Library/LaunchAgents/com.turnbell.daemon.ada.plist')
    expect(fs.readFileSync(file, 'utf8')).toContain('<string>com.turnbell.daemon.ada</string>')
    expect(turnbell.programs).toEqual([
      ['launchctl', 'bootout', `gui/${process.getuid?.()}/com.turnbell.daemon.ada`],
      ['launchctl', 'bootstrap', `gui/${process.getuid?.()}`, file],
    ])
  })

  test.each([
    ['Bootstrap failed: 5: Input/output error', 5, 3],
    ['Bootstrap failed: 37: Operation already in progress', 37, 3],
    ['Bootstrap failed: 125: Domain does not support specified action', 125, 1],
  ])('service install on macOS retries while the former agent is ending: %s', async (stderr, code, times) => {
    let asked = 0
    const { turnbell } = on('darwin', {
      overrides: { clock: { ...systemClock, after: (_, call) => systemClock.after(0, call) } },
      program: (_, [verb]) => {
        if (verb === 'bootstrap') asked += 1
        return verb === 'bootstrap' && asked < 3
          ? { code, stdout: '', stderr }
          : { code: 0, stdout: '', stderr: '' }
      },
    })
    expect(await turnbell.run('service', 'install', '--hub')).toBe(times === 3 ? 0 : 1)
    expect(asked).toBe(times)
  })

  test('service install on Windows writes a UTF-16 file for the scheduler', async () => {
    const { home, turnbell } = on('win32', { env: { USERNAME: 'ada', USERDOMAIN: 'SHOP' } })
    expect(await turnbell.run('service', 'install', '--hub')).toBe(0)
    const file = path.join(home, 'services/hub.xml')
    const bytes = fs.readFileSync(file)
    expect([...bytes.subarray(0, 2)]).toEqual([0xff, 0xfe])
    expect(bytes.toString('utf16le')).toContain('<UserId>SHOP\\ada</UserId>')
    expect(turnbell.programs).toEqual([
      ['schtasks', '/Create', '/F', '/TN', '\\turnbell\\hub', '/XML', file],
      ['schtasks', '/Run', '/TN', '\\turnbell\\hub'],
    ])
  })

  test('a service install that the manager refuses leaves nothing', async () => {
    const { user, turnbell } = on('linux', {
      program: () => ({ code: 1, stdout: '', stderr: 'Failed to connect to bus\nmore\n' }),
    })
    expect(await turnbell.run('service', 'install', '--hub', '--json')).toBe(1)
    expect(turnbell.json<Problem>()).toMatchObject({ code: 'service_failed' })
    expect(turnbell.json<Problem>().detail).toContain('Failed to connect to bus')
    const units = path.join(user, '.config/systemd/user')
    expect(fs.readdirSync(units)).toEqual(['default.target.wants'])
    expect(fs.readdirSync(path.join(units, 'default.target.wants'))).toEqual([])
  })

  test('a service install that cannot write the unit changes nothing and reports the reason', async () => {
    for (const installed of [false, true]) {
      const { user, turnbell } = on('linux')
      const units = path.join(user, '.config/systemd/user')
      fs.mkdirSync(units, { recursive: true })
      if (installed) await turnbell.run('service', 'install', '--hub')
      const before = fs.readdirSync(units)
      const told = turnbell.programs.length
      const { writeFileSync } = fs
      // Writes the part of it that fits on a full disk.
      const full = vi.spyOn(fs, 'writeFileSync').mockImplementation((file, text, options) => {
        writeFileSync(file, Buffer.from(text as string).subarray(0, 10), options)
        throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
      })
      try {
        expect(await turnbell.run('service', 'install', '--hub', '--json')).toBe(1)
      } finally {
        full.mockRestore()
      }
      expect(turnbell.json<Problem>()).toMatchObject({ code: 'service_failed' })
      expect(turnbell.json<Problem>().detail).toContain('ENOSPC')
      expect(fs.readdirSync(units)).toEqual(before)
      expect(turnbell.programs.slice(told), 'the manager').toEqual([])
      expect(await turnbell.run('service', 'install', '--hub'), 'once there is room').toBe(0)
    }
  })

  test.each(['linux', 'darwin', 'win32'] as const)(
    'service install on %s rewrites an empty unit',
    async (platform) => {
      const { home, user, turnbell } = on(platform)
      const file = {
        linux: path.join(user, '.config/systemd/user/turnbell-hub.service'),
        darwin: path.join(user, 'Library/LaunchAgents/com.turnbell.hub.plist'),
        win32: path.join(home, 'services/hub.xml'),
      }[platform]
      fs.mkdirSync(path.dirname(file), { recursive: true })
      fs.writeFileSync(file, '')
      expect(await turnbell.run('service', 'install', '--hub')).toBe(0)
      expect(fs.statSync(file).size).toBeGreaterThan(100)
      fs.writeFileSync(file, '')
      expect(await turnbell.run('service', 'uninstall', '--hub')).toBe(0)
      expect(fs.existsSync(file)).toBe(false)
    },
  )

  test('service install reports a process that was started elsewhere', async () => {
    const { home, turnbell } = on('linux')
    await fakeDaemon(personaPaths(resolveHome({}, home), 'local', 'ada', {}), () => daemonStatus('ada'))
    expect(await turnbell.run('service', 'install', '--persona', 'ada')).toBe(0)
    expect(turnbell.stderr()).toContain(`Process ${process.pid} already runs it`)
  })

  test('service install does not report a process of the manager', async () => {
    const shown = { code: 0, stdout: `MainPID=${process.pid}\n`, stderr: '' }
    const { home, turnbell } = on('linux', { program: () => shown })
    await fakeDaemon(personaPaths(resolveHome({}, home), 'local', 'ada', {}), () => daemonStatus('ada'))
    expect(await turnbell.run('service', 'install', '--persona', 'ada')).toBe(0)
    expect(turnbell.stderr()).not.toContain('started elsewhere')
  })

  test('service install without a manager prints an alternative', async () => {
    const missing = () => ({ code: null, stdout: '', stderr: 'spawn systemctl ENOENT' })
    const { turnbell } = on('linux', { program: missing })
    expect(await turnbell.run('service', 'install', '--hub', '--json')).toBe(1)
    expect(turnbell.json<Problem>()).toMatchObject({ code: 'client_missing' })
    expect(turnbell.json<Problem>().hint).toContain('--print')
    const elsewhere = on('freebsd').turnbell
    expect(await elsewhere.run('service', 'install', '--hub', '--json')).toBe(1)
    expect(elsewhere.json<Problem>()).toMatchObject({ code: 'client_missing' })
  })

  test('service install does not replace units of another home', async () => {
    const first = on('linux')
    await first.turnbell.run('service', 'install', '--hub')
    const second = on('linux', { env: { HOME: first.user } })
    expect(await second.turnbell.run('service', 'install', '--hub')).toBe(75)
    expect(second.turnbell.stderr()).toContain('another home')
    // The same home again, as after an upgrade of node: the file is rewritten.
    expect(await first.turnbell.run('service', 'install', '--hub')).toBe(0)
  })
})

/** A daemon that exits before it answers the request after a shutdown; its pid belongs to an ended process. */
async function obedientDaemon(paths: PersonaPaths, asked: string[] = []): Promise<void> {
  const daemon = await fakeDaemon(paths, (method) => {
    asked.push(method)
    return method === 'status'
      ? daemonStatus('ada', { pid: GONE })
      : (void daemon.close(), { stopping: true })
  })
}

describe('uninstall', () => {
  test('service uninstall stops the daemon over its socket and leaves no unit, socket or pid file', async () => {
    const { home, user, turnbell } = on('linux')
    await turnbell.run('service', 'install', '--persona', 'ada')
    const paths = personaPaths(resolveHome({}, home), 'local', 'ada', {})
    const order: string[] = []
    await obedientDaemon(paths, order)
    fs.writeFileSync(paths.daemon_pid, String(GONE))
    turnbell.cli.runProgram = async (command, args) => {
      order.push([command, ...args].join(' '))
      return { code: 0, stdout: '', stderr: '' }
    }
    expect(await turnbell.run('service', 'uninstall', '--persona', 'ada')).toBe(0)
    expect(order).toEqual([
      'status',
      'shutdown',
      'systemctl --user disable --now turnbell-daemon@ada.service',
      'systemctl --user daemon-reload',
      'systemctl --user reset-failed turnbell-daemon@ada.service',
    ])
    const units = path.join(user, '.config/systemd/user')
    expect(fs.readdirSync(units)).toEqual(['default.target.wants'])
    expect(fs.readdirSync(path.join(units, 'default.target.wants'))).toEqual([])
    for (const file of [paths.control_socket, paths.surface_socket, paths.daemon_pid]) {
      expect(fs.existsSync(file), file).toBe(false)
    }
  })

  test('service uninstall of one persona keeps the template for the others', async () => {
    const { user, turnbell } = on('linux')
    for (const name of ['ada', 'bob']) await turnbell.run('service', 'install', '--persona', name)
    const template = path.join(user, '.config/systemd/user/turnbell-daemon@.service')
    await turnbell.run('service', 'uninstall', '--persona', 'ada')
    expect(fs.existsSync(template)).toBe(true)
    await turnbell.run('service', 'uninstall', '--persona', 'bob')
    expect(fs.existsSync(template)).toBe(false)
  })

  test('service uninstall without an installed service does not stop a running daemon', async () => {
    const { home, turnbell } = on('linux')
    const paths = personaPaths(resolveHome({}, home), 'local', 'ada', {})
    const asked: string[] = []
    await fakeDaemon(paths, (method) => {
      asked.push(method)
      return daemonStatus('ada', { pid: process.pid })
    })
    expect(await turnbell.run('service', 'uninstall', '--persona', 'ada', '--json')).toBe(0)
    expect(turnbell.json()).toMatchObject({
      ...{ was_installed: false, stopped_pid: null, left_running_pid: process.pid },
    })
    expect(asked).not.toContain('shutdown')
    expect(fs.existsSync(paths.control_socket)).toBe(true)
  })

  test.each([
    // The state after `systemctl disable` without --now.
    ['linux', 'ActiveState=active\nMainPID=N\n', 'status shutdown disable daemon-reload reset-failed'],
    // The state after the property list was removed by hand.
    ['darwin', 'gui/501/it = {\n\tstate = running\n\tpid = N\n}\n', 'status shutdown bootout'],
  ] as const)(
    'service uninstall on %s stops a disabled service that the manager runs',
    async (platform, shown, order) => {
      const { home, turnbell } = on(platform)
      const paths = personaPaths(resolveHome({}, home), 'local', 'ada', {})
      const did: string[] = []
      await obedientDaemon(paths, did)
      turnbell.cli.runProgram = async (_, args) => {
        const [verb = ''] = args.filter((word) => !word.startsWith('-'))
        if (verb === 'show' || verb === 'print')
          return { code: 0, stdout: shown.replace(/(?<== ?)N/, String(GONE)), stderr: '' }
        did.push(verb)
        return { code: 0, stdout: '', stderr: '' }
      }
      expect(await turnbell.run('service', 'uninstall', '--persona', 'ada', '--json')).toBe(0)
      expect(turnbell.json()).toMatchObject({
        ...{ was_installed: false, stopped_pid: GONE, left_running_pid: null },
      })
      expect([...new Set(did)].join(' ')).toBe(order)
    },
  )

  test('service uninstall reports the process of a disabled service', async () => {
    const { home, turnbell } = on('linux', {
      program: () => ({ code: 0, stdout: `MainPID=${GONE}\n`, stderr: '' }),
    })
    const paths = personaPaths(resolveHome({}, home), 'local', 'ada', {})
    await obedientDaemon(paths)
    expect(await turnbell.run('service', 'uninstall', '--persona', 'ada')).toBe(0)
    expect(turnbell.stdout()).toMatch(
      new RegExp(`^turnbell-daemon@ada.service was not enabled, .*\\nProcess ${GONE} has stopped.\\n$`),
    )
  })

  // Windows does not report a pid.
  test('service uninstall reports the ended process without its pid from the manager', async () => {
    const { home, turnbell } = on('linux')
    const paths = personaPaths(resolveHome({}, home), 'local', 'ada', {})
    const daemon = await fakeDaemon(paths, () => daemonStatus('ada', { pid: GONE }))
    turnbell.cli.runProgram = async (_, args) => {
      if (args.includes('disable')) await daemon.close()
      return { code: 0, stdout: '', stderr: '' }
    }
    expect(await turnbell.run('service', 'uninstall', '--persona', 'ada', '--json')).toBe(0)
    expect(turnbell.json()).toMatchObject({
      ...{ was_installed: false, stopped_pid: GONE, left_running_pid: null },
    })
  })

  test.each(['linux', 'darwin', 'win32'] as const)(
    'service uninstall on %s without an installed service removes files of a dead daemon',
    async (platform) => {
      const { home, turnbell } = on(platform)
      const paths = personaPaths(resolveHome({}, home), 'local', 'ada', {})
      fs.mkdirSync(paths.run_dir, { recursive: true, mode: 0o700 })
      fs.writeFileSync(paths.control_socket, '')
      fs.writeFileSync(paths.daemon_pid, String(GONE))
      expect(await turnbell.run('service', 'uninstall', '--persona', 'ada', '--json')).toBe(0)
      expect(turnbell.json()).toMatchObject({ was_installed: false, stopped_pid: null })
      expect(fs.readdirSync(paths.run_dir)).toEqual(platform === 'win32' ? ['control.sock'] : [])
    },
  )
})

test.each(['linux', 'darwin'] as const)(
  'a service on %s with an empty HOME is not written to the working directory',
  async (platform) => {
    const { turnbell } = on(platform, { env: { HOME: '' } })
    expect(await turnbell.run('service', 'status', '--hub', '--json')).toBe(0)
    const { file } = turnbell.json<{ file: string }>()
    expect(path.relative(os.userInfo().homedir, file)).toMatch(/^(\.config|Library)/)
  },
)

describe('services of other owners', () => {
  test('a service of another home is neither removed nor reported as installed', async () => {
    const { home, user, turnbell } = on('linux')
    expect(await turnbell.run('service', 'install', '--hub')).toBe(0)
    const other = temporaryDirectory()
    const second = testCli({ home: other, platform: 'linux', env: { HOME: user } })
    expect(await second.run('service', 'uninstall', '--hub', '--json')).toBe(75)
    expect(second.json<Problem>().detail).toContain('belongs to another home')
    expect(second.programs).toEqual([])
    const unit = path.join(user, '.config/systemd/user/turnbell-hub.service')
    expect(fs.readFileSync(unit, 'utf8')).toContain(home)
    expect(await second.run('service', 'status', '--hub', '--json')).toBe(0)
    expect(second.json()).toMatchObject({ installed: false, enabled: false, running_pid: null })
  })

  test.each([
    ['the number of a killed hub', {}],
    ['an embedded hub', { stands_in: true }],
  ])('service uninstall does not stop %s, and an embedded hub stays reachable', async (_, more) => {
    const { home, turnbell } = on('linux')
    await turnbell.run('service', 'install', '--hub')
    const at = resolveHome({}, home)
    const hub = { pid: process.pid, url: 'http://127.0.0.1:1', started_at: '2026-01-01T00:00:00.000Z' }
    fs.writeFileSync(at.hub_pid, JSON.stringify({ ...hub, ...more }))
    expect(await turnbell.run('service', 'uninstall', '--hub', '--json')).toBe(0)
    expect(turnbell.json()).toMatchObject({ was_installed: true, stopped_pid: null })
    expect(runningHub(at)?.pid).toBe(process.pid)
  })

  test('service uninstall removes the pid file of a dead hub', async () => {
    const { home, turnbell } = on('linux')
    await turnbell.run('service', 'install', '--hub')
    const at = resolveHome({}, home)
    const hub = { pid: 999_999_999, url: 'http://127.0.0.1:1', started_at: '2026-01-01T00:00:00.000Z' }
    fs.writeFileSync(at.hub_pid, JSON.stringify(hub))
    expect(await turnbell.run('service', 'uninstall', '--hub', '--json')).toBe(0)
    expect(fs.existsSync(at.hub_pid)).toBe(false)
  })

  test('a working service is kept if its reinstallation is refused', async () => {
    let refuses = false
    const { user, turnbell } = on('linux', {
      program: () => ({ code: refuses ? 1 : 0, stdout: '', stderr: 'no bus' }),
    })
    await turnbell.run('service', 'install', '--persona', 'ada')
    refuses = true
    expect(await turnbell.run('service', 'install', '--persona', 'ada')).not.toBe(0)
    const units = path.join(user, '.config/systemd/user')
    const link = path.join(units, 'default.target.wants/turnbell-daemon@ada.service')
    expect(fs.realpathSync(link)).toBe(fs.realpathSync(path.join(units, 'turnbell-daemon@.service')))
  })

  test('a persona is not reported as installed because of another persona', async () => {
    const { turnbell } = on('linux')
    await turnbell.run('service', 'install', '--persona', 'ada')
    await turnbell.run('service', 'uninstall', '--persona', 'typo', '--json')
    expect(turnbell.json()).toMatchObject({ was_installed: false })
  })
})

describe('status', () => {
  test('service status on Linux reads the output of systemctl', async () => {
    const shown = 'ActiveState=failed\nMainPID=0\nExecMainStatus=78\nUnitFileState=enabled\n'
    const { turnbell } = on('linux', { program: () => ({ code: 0, stdout: shown, stderr: '' }) })
    await turnbell.run('service', 'install', '--hub')
    expect(await turnbell.run('service', 'status', '--hub', '--json')).toBe(0)
    expect(turnbell.json()).toMatchObject({
      ...{ unit: 'turnbell-hub.service', installed: true, enabled: true, state: 'failed' },
      ...{ pid: null, last_exit: 78, running_pid: null },
    })
  })

  test('service status on macOS reads the output of launchctl', async () => {
    const shown = 'gui/501/com.turnbell.hub = {\n\tstate = running\n\tpid = 4321\n\tlast exit code = 1\n}\n'
    const { turnbell } = on('darwin', { program: () => ({ code: 0, stdout: shown, stderr: '' }) })
    await turnbell.run('service', 'status', '--hub', '--json')
    expect(turnbell.json()).toMatchObject({ installed: false, state: 'running', pid: 4321, last_exit: 1 })
  })

  test('service status on Windows reads the last column of schtasks', async () => {
    const shown = '"\\turnbell\\hub","N/A","Läuft"\r\n'
    const { turnbell } = on('win32', { program: () => ({ code: 0, stdout: shown, stderr: '' }) })
    await turnbell.run('service', 'status', '--hub', '--json')
    expect(turnbell.json()).toMatchObject({ state: 'Läuft' })
  })

  test('service status without an answer is unknown', async () => {
    const { turnbell } = on('linux', { program: () => ({ code: 1, stdout: '', stderr: 'no bus' }) })
    expect(await turnbell.run('service', 'status', '--persona', 'ada', '--json')).toBe(0)
    expect(turnbell.json()).toMatchObject({ installed: false, state: 'unknown', last_exit: null })
  })
})

describe('logs', () => {
  test('service logs prints the last lines for people', async () => {
    const { home, turnbell } = on('linux')
    fs.mkdirSync(path.join(home, 'logs'), { mode: 0o700 })
    const lines = [1, 2, 3].map((n) =>
      JSON.stringify({ level: 40, time: 1767225600000 + n, msg: `line ${n}`, n }),
    )
    fs.writeFileSync(path.join(home, 'logs/ada.log'), `${lines.join('\n')}\nnot JSON\u001b[2J\n`)
    expect(await turnbell.run('service', 'logs', '--persona', 'ada', '--lines', '2')).toBe(0)
    expect(turnbell.stdout()).toBe('2026-01-01T00:00:00.003Z  warn   line 3  {"n":3}\nnot JSON\ufffd[2J\n')
    await turnbell.run('service', 'logs', '--persona', 'ada', '--json')
    expect(turnbell.json<{ lines: unknown[] }>().lines).toHaveLength(4)
  })

  test('service logs prints the given number of lines of any length', async () => {
    const { home, turnbell } = on('linux')
    fs.mkdirSync(path.join(home, 'logs'), { mode: 0o700 })
    const lines = Array.from({ length: 10_001 }, (_, n) =>
      JSON.stringify({ msg: `${n}`, more: 'é'.repeat(100) }),
    )
    const file = path.join(home, 'logs/ada.log')
    fs.writeFileSync(file, `${lines.join('\n')}\n`)
    await turnbell.run('service', 'logs', '--persona', 'ada', '--lines', '10000', '--json')
    const told = turnbell.json<{ lines: { msg: string }[] }>().lines
    expect([told.length, told[0]?.msg, told.at(-1)?.msg]).toEqual([10_000, '1', '10000'])
    fs.writeFileSync(file, `first\n${'x'.repeat(3_000_000)}\n`)
    await turnbell.run('service', 'logs', '--persona', 'ada', '--lines', '1', '--json')
    expect(turnbell.json<{ lines: string[] }>().lines.map(({ length }) => length)).toEqual([3_000_000])
  })

  test('service logs without a log file is not an error', async () => {
    const { turnbell } = on('linux')
    expect(await turnbell.run('service', 'logs', '--hub')).toBe(0)
    expect(turnbell.stdout()).toContain('hub.log')
  })
})

/** Larger than any pid_max, so no process has it. */
const GONE = 2 ** 22 + 1
