/**
 * Services as systemd user units. Personas share the template `turnbell-daemon@.service`. A unit is enabled by its link in
 * `default.target.wants`. See systemd.service(5), systemd.unit(5).
 */
import fs from 'node:fs'
import path from 'node:path'
import { settingsDirectory } from '../../system/config/home.ts'
import type { Invocation } from '../cli.ts'
import { runOrFail } from './run.ts'
import {
  fill,
  readTemplate,
  servicePath,
  serviceWords,
  utf8,
  type Service,
  type ServiceManager,
  type Unit,
} from './unit.ts'

const DAEMON_TEMPLATE = 'turnbell-daemon@.service'

export function systemd(invocation: Invocation): ServiceManager {
  const { cli, home } = invocation
  const directory = path.join(settingsDirectory(cli.env), 'systemd', 'user')
  const wants = path.join(directory, 'default.target.wants')
  const systemctl = (...args: string[]) => runOrFail(cli, 'systemctl', ['--user', ...args])
  const link = (unit: Unit) => path.join(wants, unit.name)
  const values = {
    command: serviceWords(cli).map(word).join(' '),
    home: word(home.root),
    path: quoted(escapeSpecifiers(`PATH=${servicePath(invocation)}`)),
  }

  return {
    name: 'systemd',
    ...utf8,

    unit(service: Service) {
      const template = service.kind === 'hub' ? 'turnbell-hub.service' : DAEMON_TEMPLATE
      return {
        service,
        name: service.kind === 'hub' ? template : `turnbell-daemon@${service.identity}.service`,
        file: path.join(directory, template),
        content: fill(readTemplate(invocation, template), values, (value) => value),
        home: `--home ${word(home.root)}\n`,
      }
    },

    async enable(unit) {
      // `enable` creates this link too. Created here, it also works if no user manager answers yet.
      fs.mkdirSync(wants, { recursive: true })
      fs.rmSync(link(unit), { force: true })
      fs.symlinkSync(unit.file, link(unit))
      await systemctl('daemon-reload')
      // A running unit would keep its old settings.
      await systemctl('try-restart', unit.name)
      await systemctl('enable', '--now', unit.name)
    },

    async disable(unit) {
      await cli.runProgram('systemctl', ['--user', 'disable', '--now', unit.name])
      fs.rmSync(link(unit), { force: true })
    },

    isEnabled: (unit) => fs.existsSync(unit.file) && isThere(link(unit)),

    sharers(unit) {
      if (unit.service.kind === 'hub' || !fs.existsSync(wants)) return []
      return fs
        .readdirSync(wants)
        .filter((name) => /^turnbell-daemon@.+\.service$/.test(name) && name !== unit.name)
    },

    async forget(unit) {
      await cli.runProgram('systemctl', ['--user', 'daemon-reload'])
      await cli.runProgram('systemctl', ['--user', 'reset-failed', unit.name])
    },

    async state(unit) {
      const shown = await show(cli, unit)
      const installed = this.isEnabled(unit)
      const pid = Number(shown.get('MainPID') ?? 0)
      const exit = shown.get('ExecMainStatus')
      return {
        manager: 'systemd',
        unit: unit.name,
        file: unit.file,
        installed,
        enabled: installed,
        state: shown.get('ActiveState') ?? 'unknown',
        pid: pid > 0 ? pid : null,
        last_exit: exit === undefined ? null : Number(exit),
      }
    },
  }
}

/** Returns properties of a unit by name. Returns none if the manager does not answer. */
async function show({ runProgram }: Invocation['cli'], unit: Unit): Promise<Map<string, string>> {
  const properties = ['ActiveState', 'MainPID', 'ExecMainStatus', 'UnitFileState']
  const { code, stdout } = await runProgram('systemctl', [
    '--user',
    'show',
    unit.name,
    `--property=${properties.join(',')}`,
  ])
  const lines = code === 0 ? stdout.split('\n').filter((line) => line.includes('=')) : []
  return new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}

const isThere = (link: string) => fs.lstatSync(link, { throwIfNoEntry: false }) !== undefined

/** Escapes `%`, which begins a specifier at any position. See systemd.unit(5), "Specifiers". */
const escapeSpecifiers = (text: string) => text.replace(/%/g, '%%')

const quoted = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`

/**
 * Escapes one word of an ExecStart line. `$` begins a variable at any position there, but not in an Environment line.
 * Blanks, quotes and backslashes require quotes around the word. See systemd.service(5), "Command lines".
 */
export function word(text: string): string {
  const plain = escapeSpecifiers(text).replace(/\$/g, () => '$$')
  return /^[\w/.,:=@+%$-]+$/.test(plain) ? plain : quoted(plain)
}
