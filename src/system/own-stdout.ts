/** stdout where it carries a protocol. */
import { Console } from 'node:console'
import { syncBuiltinESMExports } from 'node:module'

/**
 * The stream that is stdout, for the protocol alone. From now on whatever else is printed in this process (a plugin's
 * `console.log`, a progress bar) goes to stderr: between two messages it would be no message, and before one it would
 * make that unreadable.
 */
export function takeStdout(): NodeJS.WriteStream & { fd: 1 } {
  const { stdout, stderr } = process
  Object.defineProperty(process, 'stdout', { value: stderr, configurable: true, enumerable: true })
  globalThis.console = new Console(stderr, stderr)
  syncBuiltinESMExports()
  return stdout
}
