/** stdout of processes that use it for a protocol. */
import { Console } from 'node:console'
import { syncBuiltinESMExports } from 'node:module'

/**
 * Returns stdout for the protocol and redirects all other output of this process (a plugin's `console.log`, a progress
 * bar) to stderr, because it would corrupt the protocol.
 */
export function protocolStdout(): NodeJS.WriteStream & { fd: 1 } {
  const { stdout, stderr } = process
  Object.defineProperty(process, 'stdout', { value: stderr, configurable: true, enumerable: true })
  globalThis.console = new Console(stderr, stderr)
  syncBuiltinESMExports()
  return stdout
}
