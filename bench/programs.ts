/** Programs of others that the product is measured beside. */
import { install, pathOf } from '../test/support/debian.mjs'

/** Its path, installed first where that is possible; null where it cannot be had. */
export function programOf(program: string, debian_package: string): string | null {
  if (pathOf(program) === null) install([debian_package])
  return pathOf(program)
}
