/** Checks the versions of node and turnbell. */
import { VERSION } from '../../system/version.ts'
import type { Invocation } from '../cli.ts'
import { broken, fine, type Finding } from './finding.ts'

/** The minimum in package.json's `engines`. */
const NODE_MIN = [20, 19] as const

export function checkMachine({ cli }: Invocation): Finding[] {
  const node_version = process.versions.node
  const [major = 0, minor = 0] = node_version.split('.').map(Number)
  const enough = major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])
  const runs = `turnbell ${VERSION} on node ${node_version} (${cli.node}), ${cli.platform}`
  return [
    enough
      ? fine('node', runs)
      : broken('node', runs, `Install node ${NODE_MIN.join('.')} or newer, and start turnbell with it.`),
  ]
}
