/** Checks the services of this home: their programs exist, and are those that this turnbell would write. */
import fs from 'node:fs'
import { onPath } from '../../system/process/node-program.ts'
import type { Invocation } from '../cli.ts'
import { install, managerOf, unitOnDisk } from '../service/service.ts'
import type { Service, ServiceManager, Unit } from '../service/unit.ts'
import { broken, fine, fixedBy, warning, type Finding } from './finding.ts'

export function checkServices(invocation: Invocation): Finding[] {
  if (!['linux', 'darwin', 'win32'].includes(invocation.cli.platform)) return []
  const manager = managerOf(invocation)
  const personas = Object.keys(invocation.config().personas)
  const services: Service[] = [
    { kind: 'hub' },
    ...personas.map((identity): Service => ({ kind: 'persona', identity })),
  ]
  return services.flatMap((service) => checkService(invocation, manager, manager.unit(service)) ?? [])
}

/** Returns null if the service is not installed or belongs to another home. */
function checkService(invocation: Invocation, manager: ServiceManager, unit: Unit): Finding | null {
  if (!manager.isEnabled(unit)) return null
  const text = unitOnDisk(manager, unit)
  if (text === null || !text.includes(unit.home)) return null
  const check = unit.service.kind === 'hub' ? 'service hub' : `service ${unit.service.identity}`
  const which = unit.service.kind === 'hub' ? '--hub' : `--persona ${unit.service.identity}`
  const again = `Run \`turnbell service install ${which}\`, or \`turnbell doctor --fix\` for all services.`
  const fix = {
    does: `write ${unit.file} again and restart it`,
    changes: [unit.file],
    run: () => install(invocation, manager, unit),
  }
  const command = commandOf(text)
  const gone = command.words.filter((word) => isGone(word, invocation))
  if (gone.length > 0)
    return fixedBy(broken(check, `starts missing programs: ${gone.join(', ')} (${unit.file})`, again), fix)
  // A different PATH is not compared, because it is that of the shell that installed the service.
  if (command.text !== commandOf(unit.content).text)
    return fixedBy(warning(check, `starts another turnbell than this one (${unit.file})`, again), fix)
  return fine(check, unit.file)
}

/** Returns the command part of a unit of any kind, and the programs and files in it. */
function commandOf(text: string): { text: string; words: string[] } {
  const part = /^ExecStart=.*$|<array>[^]*?<\/array>|<Command>[^]*?<\/Arguments>/m.exec(text)?.[0] ?? ''
  const words = part
    .replace(/^ExecStart=/, '')
    .replace(/<[^>]+>/g, '\n')
    .split(/"((?:[^"\\]|\\.)*)"|\s+/)
    .filter((word) => word !== undefined && word !== '')
    .map((word) => word.replace(/%%|\$\$/g, (pair) => pair.charAt(0)).replace(/&amp;/g, '&'))
  const programs = words.slice(
    0,
    words.findIndex((word) => word === 'hub' || word === 'daemon'),
  )
  return { text: part, words: programs.filter((word) => word !== '/usr/bin/env') }
}

function isGone(word: string, { cli }: Invocation): boolean {
  return /^(\/|[A-Za-z]:\\)/.test(word)
    ? !fs.existsSync(word)
    : onPath(word, cli.env, cli.platform).length === 0
}
