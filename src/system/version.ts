/** Version of the package, inserted by the build; undefined when run from source. */
declare global {
  var TURNBELL_VERSION: string | undefined
}

export const VERSION: string = globalThis.TURNBELL_VERSION ?? '0.0.0-source'
