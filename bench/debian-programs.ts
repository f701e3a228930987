/** Finds the external programs that the product is compared with. */
import { install, pathOf } from '../test/support/command/debian.mjs'

/** Returns the program's path, installing it if possible; null if it is unavailable. */
export function programOf(program: string, debian_package: string): string | null {
  if (pathOf(program) === null) install([debian_package])
  return pathOf(program)
}
