#version 450
// What any pass of the frame does: each pixel is made of the pixels at the same place of up to two images.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba8) uniform readonly image2D first;
layout(binding = 1, rgba8) uniform readonly image2D second;
layout(binding = 2, rgba8) uniform writeonly image2D made;
layout(push_constant) uniform Pass { uint number; uint inputs; } pass;

vec4 at(uvec2 pixel, uvec2 size, int which) {
  if (which == 0) {
    return imageLoad(first, ivec2(pixel * uvec2(imageSize(first)) / size));
  }
  return imageLoad(second, ivec2(pixel * uvec2(imageSize(second)) / size));
}

void main() {
  uvec2 size = uvec2(imageSize(made)), pixel = gl_GlobalInvocationID.xy;
  if (any(greaterThanEqual(pixel, size))) {
    return;
  }
  vec4 color = vec4(pixel % 251u / 251.0, (pixel.x * pixel.y) % 239u / 239.0, pass.number % 13u / 13.0);
  for (int which = 0; which < int(pass.inputs); ++which) {
    color = mix(color, at(pixel, size, which), 0.625);
  }
  imageStore(made, ivec2(pixel), color.yzwx);
}
