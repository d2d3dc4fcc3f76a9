// Tone curve, glow and a soft vignette over the photo.

Texture2D<float4> Photo : register(t0);
Texture2D<float4> Glow : register(t1);
StructuredBuffer<float> Curve : register(t2);
SamplerState Smooth : register(s0);
RWTexture2D<float4> Graded : register(u0);
cbuffer Size : register(b0) { uint Width; uint Height; };

float Tone(float level)
{
    float x = saturate(level) * 255.0;
    uint i = min(uint(x), 254u);
    return lerp(Curve[i], Curve[i + 1], x - float(i));
}

[numthreads(8, 8, 1)]
void main(uint3 id : SV_DispatchThreadID)
{
    if (id.x >= Width || id.y >= Height)
        return;
    float4 pixel = Photo.Load(int3(id.xy, 0));
    float2 uv = (float2(id.xy) + 0.5) / float2(Width, Height);
    // The curve acts on brightness, half by scaling the colour and half per
    // channel: the one keeps the hue, the other keeps highlights from clipping.
    float luma = dot(pixel.rgb, float3(0.2126, 0.7152, 0.0722));
    float3 scaled = pixel.rgb * (Tone(luma) / max(luma, 1.0 / 255.0));
    float3 each = float3(Tone(pixel.r), Tone(pixel.g), Tone(pixel.b));
    float3 color = lerp(scaled, each, 0.5);
    // Light adds up in linear space; a square stands for the sRGB curve.
    float3 glow = Glow.SampleLevel(Smooth, uv, 0.0).rgb;
    float3 light = color * color + glow * 0.45;
    float3 over = max(light - 0.8, 0.0);
    light = min(light, 0.8) + over / (1.0 + 2.0 * over);
    float2 centre = uv - 0.5;
    light *= 1.0 - 0.9 * dot(centre, centre);
    Graded[id.xy] = float4(sqrt(saturate(light)), pixel.a);
}
