/** The suite as `turnbell/surface-suite`, with what an adapter's author needs to play the client. */
export { describeSurface } from './surface.suite.ts'
export type { PlaceMode, SurfaceTraits, SurfaceUnderTest } from './surface.suite.ts'
export { atRest, fakeClock } from '../support/fake-clock.ts'
export type { FakeClock } from '../support/fake-clock.ts'
